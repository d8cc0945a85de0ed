#include "server/known_members.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/strings.h"

namespace quire {
namespace {

constexpr std::size_t kMaxFound = 64;

bool IsOfType(const Json& value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  return !value.is_object() && !value.is_array();
}

bool MayBe(const Json& value, const Json& schema) {
  const Json* type = schema.Find("type");
  if (type == nullptr) return true;
  if (type->is_string()) return IsOfType(value, type->string());
  return std::ranges::any_of(type->array(),
                             [&](const Json& each) { return IsOfType(value, each.string()); });
}

class MemberSearch {
 public:
  MemberSearch(std::string_view name, std::vector<UnknownMember>& out) : path_(name), out_(out) {}

  // As deep as the schema is, which is no client's.
  void Search(const Json& value, const Json& schema) {
    if (!value.is_object() && !value.is_array()) return;
    if (const Json* choices = schema.Find("anyOf")) {
      for (const Json& choice : choices->array()) {
        if (MayBe(value, choice)) return Search(value, choice);
      }
      return;
    }
    if (value.is_array()) return SearchItems(value, schema);
    if (const Json* properties = schema.Find("properties")) SearchMembers(value, *properties);
  }

 private:
  void SearchItems(const Json& value, const Json& schema) {
    const Json* items = schema.Find("items");
    if (items == nullptr) return;
    const std::size_t size = path_.size();
    for (std::size_t i = 0; i < value.array().size() && out_.size() < kMaxFound; ++i) {
      path_ += StrCat("[", i, "]");
      Search(value.array()[i], *items);
      path_.resize(size);
    }
  }

  void SearchMembers(const Json& value, const Json& properties) {
    const std::size_t size = path_.size();
    for (const auto& [name, member] : value.object()) {
      if (out_.size() >= kMaxFound) return;
      const Json* schema = properties.Find(name);
      path_ += '.';
      path_ += name;
      if (schema == nullptr) {
        out_.push_back({.path = path_, .nearest = Nearest(name, properties)});
      } else {
        Search(member, *schema);
      }
      path_.resize(size);
    }
  }

  static std::string Nearest(const std::string& name, const Json& properties) {
    std::vector<std::string> known;
    for (const auto& [each, schema] : properties.object()) known.push_back(each);
    return NearestName(name, known).value_or("");
  }

  std::string path_;
  std::vector<UnknownMember>& out_;
};

}  // namespace

void FindUnknownMembers(const Json& value, const Json& schema, std::string_view name,
                        std::vector<UnknownMember>& out) {
  MemberSearch(name, out).Search(value, schema);
}

Json ReadSchemaText(std::string_view text) {
  Result<Json> schema = ParseJson(text);
  QUIRE_CHECK(schema.ok()) << schema.status().message() << " in " << std::string(text);
  return *std::move(schema);
}

}  // namespace quire
