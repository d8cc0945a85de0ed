#include "structured/schema_document.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/strings.h"

namespace quire::structured {
namespace {

constexpr int kMaxDepth = 128;
constexpr std::size_t kMaxBytes = std::size_t{4} << 20;

std::string Escaped(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

// A token of a JSON pointer in a URI fragment; nullopt where an escape is none.
std::optional<std::string> Unescaped(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '%') {
      const auto digit = [](char c) {
        return c >= '0' && c <= '9'   ? c - '0'
               : c >= 'a' && c <= 'f' ? c - 'a' + 10
               : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                      : -1;
      };
      if (i + 2 >= token.size() || digit(token[i + 1]) < 0 || digit(token[i + 2]) < 0) return {};
      out += static_cast<char>(digit(token[i + 1]) * 16 + digit(token[i + 2]));
      i += 2;
    } else {
      out += token[i];
    }
  }
  std::string plain;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] != '~') {
      plain += out[i];
    } else if (i + 1 < out.size() && (out[i + 1] == '0' || out[i + 1] == '1')) {
      plain += out[++i] == '0' ? '~' : '/';
    } else {
      return {};
    }
  }
  return plain;
}

const Json* Step(const Json& at, const std::string& token) {
  if (at.is_object()) return at.Find(token);
  if (!at.is_array()) return nullptr;
  const std::optional<std::size_t> index = ParseNumber<std::size_t>(token);
  return index && *index < at.array().size() ? &at.array()[*index] : nullptr;
}

bool HasIdentity(const Json& schema) {
  const Json* id = schema.is_object() ? schema.Find("$id") : nullptr;
  return id != nullptr && id->is_string();
}

// Null where it leads nowhere, or through a schema with an identity of its own: what that one's
// references mean would not be known.
const Json* FindByPointer(const Json& root, std::string_view pointer) {
  const Json* at = &root;
  while (!pointer.empty()) {
    if (pointer[0] != '/' || (at != &root && HasIdentity(*at))) return nullptr;
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    const std::optional<std::string> token = Unescaped(pointer.substr(0, end));
    pointer.remove_prefix(end);
    at = token ? Step(*at, *token) : nullptr;
    if (at == nullptr) return nullptr;
  }
  return at;
}

// Visits all values with their pointers until `visit` gives true.
template <typename Visitor>
bool Walk(const Json& at, const std::string& pointer, Visitor& visit) {
  if (visit(at, pointer)) return true;
  if (at.is_object()) {
    for (const auto& [name, member] : at.object()) {
      if (Walk(member, pointer + "/" + Escaped(name), visit)) return true;
    }
  } else if (at.is_array()) {
    for (std::size_t i = 0; i < at.array().size(); ++i) {
      if (Walk(at.array()[i], StrCat(pointer, "/", i), visit)) return true;
    }
  }
  return false;
}

// Whether the values of this keyword's object are schemas; or it is a schema, or a list of them.
bool HoldsNamedSchemas(std::string_view keyword) {
  return keyword == "properties" || keyword == "patternProperties" || keyword == "$defs" ||
         keyword == "definitions" || keyword == "dependentSchemas" || keyword == "dependencies";
}
bool HoldsSchemas(std::string_view keyword) {
  static constexpr std::string_view kKeywords[] = {"allOf",        "anyOf",
                                                   "oneOf",        "not",
                                                   "if",           "then",
                                                   "else",         "items",
                                                   "prefixItems",  "additionalItems",
                                                   "contains",     "additionalProperties",
                                                   "propertyNames"};
  return std::ranges::find(kKeywords, keyword) != std::end(kKeywords);
}

// Schemas by $id, and by # and their $anchor: of those places alone that hold schemas, and not of
// what stands inside one with an identity of its own. Null where several have one name.
using SchemaNames = std::map<std::string, const Json*>;

void AddName(const std::string& name, const Json& schema, SchemaNames& names) {
  const auto [place, is_new] = names.try_emplace(name, &schema);
  if (!is_new) place->second = nullptr;
}

void CollectNames(const Json& schema, bool is_root, SchemaNames& names) {
  if (schema.is_array()) {
    for (const Json& item : schema.array()) CollectNames(item, false, names);
  }
  if (!schema.is_object()) return;
  if (HasIdentity(schema)) {
    AddName(schema.Find("$id")->string(), schema, names);
    if (!is_root) return;
  }
  const Json* anchor = schema.Find("$anchor");
  if (anchor != nullptr && anchor->is_string()) AddName("#" + anchor->string(), schema, names);
  for (const auto& [keyword, member] : schema.object()) {
    if (HoldsSchemas(keyword)) CollectNames(member, false, names);
    if (!HoldsNamedSchemas(keyword) || !member.is_object()) continue;
    for (const auto& [name, inner] : member.object()) CollectNames(inner, false, names);
  }
}

}  // namespace

Status SchemaError(Code code, const std::string& pointer, std::string_view message) {
  return Status(code, StrCat("json schema: ", pointer, ": ", message));
}

Result<SchemaDocument> SchemaDocument::Parse(std::string_view text) {
  Result<Json> parsed =
      ParseJson(text, {.max_depth = kMaxDepth, .max_bytes = kMaxBytes, .unique_names = false});
  if (!parsed.ok()) return parsed.status().With("json schema");
  if (!parsed->is_object() && !parsed->is_bool()) {
    return SchemaError(Code::kInvalidArgument, "#",
                       StrCat("must be an object or a boolean, got ", parsed->kind()));
  }
  SchemaDocument document;
  document.nodes_.push_back(*std::move(parsed));
  Status status;
  auto visit = [&](const Json& part, const std::string& pointer) {
    if (!part.is_object()) return false;
    for (const auto& [name, member] : part.object()) {
      if (name.starts_with('\x01')) {
        status = SchemaError(Code::kInvalidArgument, pointer, "a name begins with U+0001");
        return true;
      }
    }
    return false;
  };
  Walk(document.root(), "#", visit);
  QUIRE_RETURN_IF_ERROR(status);
  CollectNames(document.root(), /*is_root=*/true, document.named_);
  return document;
}

Result<const Json*> SchemaDocument::Resolve(const Json& at, const std::string& reference) const {
  const std::size_t hash = std::min(reference.find('#'), reference.size());
  const std::string base = reference.substr(0, hash);
  const std::string fragment = hash < reference.size() ? reference.substr(hash + 1) : "";
  const Json* start = &root();
  if (!base.empty()) {
    const auto named = named_.find(base);
    start = named == named_.end() ? nullptr : named->second;
  }
  const Json* found = nullptr;
  if (start != nullptr && (fragment.empty() || fragment[0] == '/')) {
    found = FindByPointer(*start, fragment);
  } else if (start != nullptr) {
    const auto named = named_.find("#" + fragment);
    found = named == named_.end() ? nullptr : named->second;
  }
  if (found != nullptr && (found->is_object() || found->is_bool())) return found;
  const std::string pointer = PointerOf(at) + "/$ref";
  const std::string message = StrCat("the reference ", Printable(reference));
  if (found != nullptr) {
    return SchemaError(Code::kInvalidArgument, pointer, message + " does not lead to a schema");
  }
  if (start == nullptr) {
    return SchemaError(Code::kUnimplemented, pointer,
                       StrCat("unsupported: ", message, " leads out of this schema"));
  }
  return SchemaError(Code::kInvalidArgument, pointer, message + " leads nowhere in this schema");
}

std::string SchemaDocument::PointerOf(const Json& part) const {
  const Json* wanted = &part;
  std::string found = "#";
  auto visit = [&](const Json& at, const std::string& pointer) {
    if (&at != wanted) return false;
    found = pointer;
    return true;
  };
  for (int i = 0; i < kMaxDepth; ++i) {
    const auto origin = origins_.find(wanted);
    if (origin == origins_.end()) break;
    wanted = origin->second;
  }
  if (Walk(root(), "#", visit)) return found;
  // A part of something made: where that came from.
  for (std::size_t i = 1; i < nodes_.size(); ++i) {
    if (Walk(nodes_[i], "#", visit)) return PointerOf(nodes_[i]);
  }
  return "#";
}

const Json& SchemaDocument::Make(const Json& origin, Json schema) {
  const Json& made = nodes_.emplace_back(std::move(schema));
  origins_[&made] = &origin;
  return made;
}

Json SchemaDocument::SameAs(const Json& schema) {
  const Json& whole = Follow(schema);
  same_.push_back(&whole);
  return JsonObject{{std::string(kSame), static_cast<std::int64_t>(same_.size()) - 1}};
}

const Json& SchemaDocument::Follow(const Json& schema) const {
  const Json* at = &schema;
  while (at->is_object() && at->object().size() == 1 && at->object()[0].first == kSame) {
    at = same_[static_cast<std::size_t>(at->object()[0].second.integer())];
  }
  return *at;
}

}  // namespace quire::structured
