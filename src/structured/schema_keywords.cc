#include "structured/schema_keywords.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "base/strings.h"

namespace quire::structured {
namespace {

constexpr double kLargestCount = 1e9;
constexpr std::size_t kMaxMembers = 5000;  // of one object

// Defined by JSON Schema and not known here; they would constrain.
constexpr std::array<std::string_view, 5> kUnsupported = {"unevaluatedItems",
                                                          "unevaluatedProperties", "$dynamicRef",
                                                          "$recursiveRef", "$recursiveAnchor"};

unsigned KindOfTypeName(std::string_view name) {
  if (name == "null") return kNullKind;
  if (name == "boolean") return kFalseKind | kTrueKind;
  if (name == "number" || name == "integer") return kNumberKind;
  if (name == "string") return kStringKind;
  if (name == "array") return kArrayKind;
  if (name == "object") return kObjectKind;
  return 0;
}

class KeywordReader {
 public:
  KeywordReader(const SchemaDocument& document, const Json& schema, Shape& shape)
      : document_(document), schema_(schema), shape_(shape) {}

  Result<bool> Apply() {
    QUIRE_RETURN_IF_ERROR(RefuseUnsupported());
    QUIRE_RETURN_IF_ERROR(ApplyType());
    QUIRE_RETURN_IF_ERROR(ApplyNumbers());
    QUIRE_RETURN_IF_ERROR(ApplyStrings());
    QUIRE_RETURN_IF_ERROR(ApplyArrays());
    QUIRE_RETURN_IF_ERROR(ApplyContains());
    QUIRE_RETURN_IF_ERROR(ApplyObjects());
    ApplyMade();
    return shape_.kinds != 0;
  }

 private:
  Status Bad(std::string_view keyword, std::string_view message) const {
    return KeywordError(document_, Code::kInvalidArgument, schema_, keyword, message);
  }

  Status TooMany(std::string_view keyword) const {
    return KeywordError(document_, Code::kResourceExhausted, schema_, keyword,
                        StrCat("has more than ", kMaxMembers, " members"));
  }

  Status RefuseUnsupported() const {
    for (const std::string_view keyword : kUnsupported) {
      const Json* member = schema_.Find(keyword);
      if (member == nullptr) continue;
      const bool says_nothing = (member->is_bool() && member->boolean()) ||
                                (member->is_object() && member->object().empty());
      if (says_nothing) continue;
      return KeywordError(document_, Code::kUnimplemented, schema_, keyword,
                          "unsupported: this keyword cannot be enforced");
    }
    const Json* id = schema_.Find("$id");
    if (id != nullptr && &schema_ != &document_.root()) {
      return KeywordError(document_, Code::kUnimplemented, schema_, "$id",
                          "unsupported: a schema inside another one with an identity of its own");
    }
    return {};
  }

  Status ApplyType() {
    const Json* type = schema_.Find("type");
    if (type == nullptr) return {};
    const JsonArray names = type->is_array() ? type->array() : JsonArray{*type};
    if (names.empty()) return Bad("type", "must name a type");
    unsigned kinds = 0;
    bool has_number = false;
    bool has_integer = false;
    for (const Json& name : names) {
      const unsigned kind = name.is_string() ? KindOfTypeName(name.string()) : 0;
      if (kind == 0) {
        return Bad("type", StrCat("must be null, boolean, number, integer, string, array or "
                                  "object, got ",
                                  Printable(name.Dump())));
      }
      kinds |= kind;
      has_number |= name.string() == "number";
      has_integer |= name.string() == "integer";
    }
    shape_.kinds &= kinds;
    if (has_integer && !has_number) shape_.is_integer = true;
    return {};
  }

  Status AddBound(std::string_view keyword, unsigned relations) {
    const Json* bound = schema_.Find(keyword);
    if (bound == nullptr) return {};
    if (!bound->is_number()) return Bad(keyword, StrCat("must be a number, got ", bound->kind()));
    std::optional<Decimal> decimal = DecimalOf(*bound);
    if (!decimal) {
      return KeywordError(document_, Code::kUnimplemented, schema_, keyword,
                          "unsupported: a number of so many digits");
    }
    shape_.bounds.push_back({relations, *std::move(decimal)});
    return {};
  }

  Status AddStep(std::string_view keyword, bool is_multiple) {
    const Json* step = schema_.Find(keyword);
    if (step == nullptr) return {};
    if (!step->is_number() || !(step->number() > 0)) {
      return Bad(keyword, StrCat("must be a number above 0, got ", Printable(step->Dump())));
    }
    std::optional<Decimal> decimal = DecimalOf(*step);
    if (!decimal) {
      return KeywordError(document_, Code::kUnimplemented, schema_, keyword,
                          "unsupported: a number of so many digits");
    }
    shape_.steps.push_back({*std::move(decimal), is_multiple});
    return {};
  }

  Status ApplyNumbers() {
    QUIRE_RETURN_IF_ERROR(AddBound("minimum", kEqual | kGreater));
    QUIRE_RETURN_IF_ERROR(AddBound("maximum", kEqual | kLess));
    QUIRE_RETURN_IF_ERROR(AddBound("exclusiveMinimum", kGreater));
    QUIRE_RETURN_IF_ERROR(AddBound("exclusiveMaximum", kLess));
    QUIRE_RETURN_IF_ERROR(AddStep("multipleOf", true));
    return AddStep(kNotMultipleOf, false);
  }

  // A count that is not negative; `fallback` where the keyword is absent.
  Result<std::int64_t> Count(std::string_view keyword, std::int64_t fallback) const {
    const Json* count = schema_.Find(keyword);
    if (count == nullptr) return fallback;
    const double value = count->is_number() ? count->number() : -1;
    if (value < 0 || value != std::trunc(value)) {
      return Bad(keyword,
                 StrCat("must be an integer of at least 0, got ", Printable(count->Dump())));
    }
    return static_cast<std::int64_t>(std::min(value, kLargestCount));
  }

  Status ApplyCounts(std::string_view min_keyword, std::string_view max_keyword, std::int64_t& min,
                     std::int64_t& max) const {
    QUIRE_ASSIGN_OR_RETURN(const std::int64_t least, Count(min_keyword, 0));
    QUIRE_ASSIGN_OR_RETURN(const std::int64_t most, Count(max_keyword, kUnbounded));
    min = std::max(min, least);
    if (most != kUnbounded) max = max == kUnbounded ? most : std::min(max, most);
    return {};
  }

  Status AddPattern(std::string_view keyword, bool must_match, std::vector<PatternRule>& rules) {
    const Json* pattern = schema_.Find(keyword);
    if (pattern == nullptr) return {};
    if (!pattern->is_string()) {
      return Bad(keyword, StrCat("must be a string, got ", pattern->kind()));
    }
    rules.push_back({pattern->string(), must_match, &schema_});
    return {};
  }

  Status ApplyStrings() {
    QUIRE_RETURN_IF_ERROR(
        ApplyCounts("minLength", "maxLength", shape_.min_length, shape_.max_length));
    QUIRE_RETURN_IF_ERROR(AddPattern("pattern", true, shape_.patterns));
    QUIRE_RETURN_IF_ERROR(AddPattern(kNotPattern, false, shape_.patterns));
    return AddPattern("format", true, shape_.formats);
  }

  // 2020-12 has prefixItems and items, earlier drafts items and additionalItems.
  Status ApplyArrays() {
    QUIRE_RETURN_IF_ERROR(ApplyCounts("minItems", "maxItems", shape_.min_items, shape_.max_items));
    ArrayPart part;
    std::string_view rest = "items";
    std::string_view prefix = "prefixItems";
    const Json* items = schema_.Find("items");
    if (items != nullptr && items->is_array()) {
      prefix = "items";
      rest = "additionalItems";
    }
    if (schema_.Find(prefix) != nullptr) {
      QUIRE_ASSIGN_OR_RETURN(part.prefix, SchemaList(document_, schema_, prefix));
    }
    if (schema_.Find(rest) != nullptr) {
      QUIRE_ASSIGN_OR_RETURN(part.rest, SubSchema(document_, schema_, rest));
    }
    if (part.prefix != nullptr || part.rest != nullptr) shape_.arrays.push_back(part);
    const Json* unique = schema_.Find("uniqueItems");
    if (unique == nullptr) return {};
    if (!unique->is_bool()) return Bad("uniqueItems", "must be true or false");
    if (unique->boolean()) shape_.unique = &schema_;
    return {};
  }

  Status ApplyContains() {
    if (schema_.Find("contains") == nullptr) return {};
    ContainsRule rule;
    QUIRE_ASSIGN_OR_RETURN(rule.schema, SubSchema(document_, schema_, "contains"));
    QUIRE_ASSIGN_OR_RETURN(rule.min, Count("minContains", 1));
    QUIRE_ASSIGN_OR_RETURN(rule.max, Count("maxContains", kUnbounded));
    if (rule.min > 0 || rule.max != kUnbounded) shape_.contains.push_back(rule);
    return {};
  }

  Status SchemaMap(std::string_view keyword, const JsonObject*& out) const {
    const Json* map = schema_.Find(keyword);
    if (map == nullptr) return {};
    if (!map->is_object()) return Bad(keyword, StrCat("must be an object, got ", map->kind()));
    for (const auto& [name, member] : map->object()) {
      if (member.is_object() || member.is_bool()) continue;
      return Bad(keyword, StrCat("the schema of ", Printable(name),
                                 " must be an object or a boolean, got ", member.kind()));
    }
    if (map->object().size() > kMaxMembers) return TooMany(keyword);
    out = &map->object();
    return {};
  }

  Status ApplyObjects() {
    const std::int64_t min_before = shape_.min_members;
    QUIRE_RETURN_IF_ERROR(
        ApplyCounts("minProperties", "maxProperties", shape_.min_members, shape_.max_members));
    if (shape_.min_members > min_before) shape_.min_members_at = &schema_;
    ObjectPart part;
    QUIRE_RETURN_IF_ERROR(SchemaMap("properties", part.properties));
    QUIRE_RETURN_IF_ERROR(SchemaMap("patternProperties", part.patterns));
    if (schema_.Find("additionalProperties") != nullptr) {
      QUIRE_ASSIGN_OR_RETURN(part.additional,
                             SubSchema(document_, schema_, "additionalProperties"));
    }
    if (part.properties != nullptr || part.patterns != nullptr || part.additional != nullptr) {
      shape_.objects.push_back(part);
    }
    if (schema_.Find("propertyNames") != nullptr) {
      QUIRE_ASSIGN_OR_RETURN(const Json* names, SubSchema(document_, schema_, "propertyNames"));
      shape_.names.push_back(names);
    }
    const Json* required = schema_.Find("required");
    if (required == nullptr) return {};
    if (!required->is_array()) return Bad("required", "must be an array of strings");
    if (required->array().size() + shape_.required.size() > kMaxMembers) return TooMany("required");
    for (const Json& name : required->array()) {
      if (!name.is_string()) return Bad("required", "must be an array of strings");
      if (std::ranges::find(shape_.required, name.string()) == shape_.required.end()) {
        shape_.required.push_back(name.string());
      }
    }
    return {};
  }

  void ApplyMade() {
    const Json* values = schema_.Find(kNotValues);
    if (values == nullptr) return;
    for (const Json& value : values->array()) {
      const unsigned kind = KindOf(value);
      if (kind == kNullKind || kind == kTrueKind || kind == kFalseKind) {
        shape_.kinds &= ~kind;
      } else {
        shape_.excluded.push_back(&value);
      }
    }
  }

  const SchemaDocument& document_;
  const Json& schema_;
  Shape& shape_;
};

}  // namespace

bool IsSameValue(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_double() || b.is_double()) return a.number() == b.number();
    return a == b;
  }
  if (a.is_array() && b.is_array()) {
    return std::ranges::equal(a.array(), b.array(), IsSameValue);
  }
  if (a.is_object() && b.is_object()) {
    if (a.object().size() != b.object().size()) return false;
    return std::ranges::all_of(a.object(), [&](const auto& member) {
      const Json* other = b.Find(member.first);
      return other != nullptr && IsSameValue(member.second, *other);
    });
  }
  return a == b;
}

unsigned KindOf(const Json& value) {
  if (value.is_null()) return kNullKind;
  if (value.is_bool()) return value.boolean() ? kTrueKind : kFalseKind;
  if (value.is_number()) return kNumberKind;
  if (value.is_string()) return kStringKind;
  return value.is_array() ? kArrayKind : kObjectKind;
}

Status KeywordError(const SchemaDocument& document, Code code, const Json& schema,
                    std::string_view keyword, std::string_view message) {
  return SchemaError(code, document.PointerOf(schema), StrCat(keyword, ": ", message));
}

Result<const JsonArray*> SchemaList(const SchemaDocument& document, const Json& schema,
                                    std::string_view keyword) {
  const Json* list = schema.Find(keyword);
  const bool is_good =
      list != nullptr && list->is_array() && std::ranges::all_of(list->array(), [](const Json& s) {
        return s.is_object() || s.is_bool();
      });
  if (!is_good) {
    return KeywordError(document, Code::kInvalidArgument, schema, keyword,
                        "must be an array of schemas");
  }
  return &list->array();
}

Result<const Json*> SubSchema(const SchemaDocument& document, const Json& schema,
                              std::string_view keyword) {
  const Json* member = schema.Find(keyword);
  if (member == nullptr || !(member->is_object() || member->is_bool())) {
    return KeywordError(document, Code::kInvalidArgument, schema, keyword,
                        StrCat("must be an object or a boolean, got ",
                               member == nullptr ? std::string_view("nothing") : member->kind()));
  }
  return &document.Follow(*member);
}

Result<bool> ApplyKeywords(const SchemaDocument& document, const Json& schema, Shape& shape) {
  return KeywordReader(document, schema, shape).Apply();
}

}  // namespace quire::structured
