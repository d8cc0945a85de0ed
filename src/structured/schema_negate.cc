// Schemas for what does not conform to a schema.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/strings.h"
#include "structured/schema_expander.h"
#include "structured/schema_keywords.h"

namespace quire::structured {
namespace {

constexpr std::array<std::string_view, 6> kTypes = {"null",   "boolean", "number",
                                                    "string", "array",   "object"};

JsonObject Typed(std::string_view type, std::string_view keyword, Json value) {
  return {{"type", type}, {std::string(keyword), std::move(value)}};
}

Json Not(Json schema) { return JsonObject{{"not", std::move(schema)}}; }

// Keywords whose opposite is another keyword with the same value.
struct Opposite {
  std::string_view keyword, type, opposite;
};
constexpr std::array<Opposite, 7> kOpposites = {{{"minimum", "number", "exclusiveMaximum"},
                                                 {"maximum", "number", "exclusiveMinimum"},
                                                 {"exclusiveMinimum", "number", "maximum"},
                                                 {"exclusiveMaximum", "number", "minimum"},
                                                 {"multipleOf", "number", kNotMultipleOf},
                                                 {kNotMultipleOf, "number", "multipleOf"},
                                                 {"pattern", "string", kNotPattern}}};

// Counts: a minimum of n turns into a maximum of n - 1.
struct CountOpposite {
  std::string_view keyword, type, opposite;
  int step;
};
constexpr std::array<CountOpposite, 6> kCountOpposites = {
    {{"minLength", "string", "maxLength", -1},
     {"maxLength", "string", "minLength", 1},
     {"minItems", "array", "maxItems", -1},
     {"maxItems", "array", "minItems", 1},
     {"minProperties", "object", "maxProperties", -1},
     {"maxProperties", "object", "minProperties", 1}}};

constexpr std::array<std::string_view, 10> kCannotBeNegated = {
    "format",        "patternProperties", "additionalProperties", "uniqueItems", "oneOf",
    "propertyNames", "dependentSchemas",  "dependencies",         "minContains", "maxContains"};

Json OtherTypes(const Json& type) {
  const JsonArray names = type.is_array() ? type.array() : JsonArray{type};
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(names,
                               [&](const Json& n) { return n.is_string() && n.string() == name; });
  };
  JsonArray ways;
  for (const std::string_view name : kTypes) {
    if (!has(name)) ways.push_back(JsonObject{{"type", name}});
  }
  if (has("integer") && !has("number")) {
    std::erase_if(ways, [](const Json& way) { return way.Find("type")->string() == "number"; });
    ways.push_back(Typed("number", kNotMultipleOf, 1));
  }
  return ways.empty() ? Json(false) : Json(JsonObject{{"anyOf", std::move(ways)}});
}

}  // namespace

Result<const Json*> SchemaExpander::Negate(const Json& inner) {
  const Json& schema = document_.Follow(inner);
  const auto known = negations_.find(&schema);
  if (known != negations_.end()) return known->second;
  JsonArray ways;
  const auto same = [&](const Json& part) { return document_.SameAs(part); };
  if (schema.is_bool()) {
    const Json& made = document_.Make(schema, Json(!schema.boolean()));
    negations_[&schema] = &made;
    return &made;
  }
  for (const std::string_view keyword : kCannotBeNegated) {
    const Json* member = schema.Find(keyword);
    const bool says_nothing =
        member == nullptr ||
        (keyword == "uniqueItems" && member->is_bool() && !member->boolean()) ||
        (keyword == "additionalProperties" && member->is_bool() && member->boolean());
    if (says_nothing) continue;
    return Error(Code::kUnimplemented, schema, keyword, "unsupported where it must not hold");
  }
  // Whatever is wrong with a keyword is told by applying it.
  Shape scratch;
  QUIRE_RETURN_IF_ERROR(ApplyKeywords(document_, schema, scratch).status());
  if (const Json* type = schema.Find("type")) ways.push_back(OtherTypes(*type));
  for (const auto& [keyword, type, opposite] : kOpposites) {
    if (const Json* value = schema.Find(keyword)) ways.push_back(Typed(type, opposite, *value));
  }
  for (const auto& [keyword, type, opposite, step] : kCountOpposites) {
    const Json* value = schema.Find(keyword);
    if (value == nullptr) continue;
    const auto count = static_cast<std::int64_t>(std::min(value->number(), 1e9)) + step;
    if (count >= 0) ways.push_back(Typed(type, opposite, count));
  }
  QUIRE_RETURN_IF_ERROR(NegateValues(schema, ways));
  QUIRE_RETURN_IF_ERROR(NegateParts(schema, ways));
  if (schema.Find("anyOf") != nullptr) {
    QUIRE_ASSIGN_OR_RETURN(const JsonArray* any, SchemaList(document_, schema, "anyOf"));
    JsonArray all;
    for (const Json& member : *any) all.push_back(Not(same(member)));
    ways.push_back(JsonObject{{"allOf", std::move(all)}});
  }
  const Json& made = document_.Make(
      schema, ways.empty() ? Json(false) : Json(JsonObject{{"anyOf", std::move(ways)}}));
  negations_[&schema] = &made;
  return &made;
}

Status SchemaExpander::NegateValues(const Json& schema, JsonArray& ways) const {
  JsonArray values;
  if (const Json* constant = schema.Find("const")) values.push_back(*constant);
  const Json* list = schema.Find("enum");
  if (list != nullptr && list->is_array()) {
    if (!values.empty()) {
      return Error(Code::kUnimplemented, schema, "enum", "unsupported where it must not hold");
    }
    values = list->array();
  }
  if (list == nullptr && values.empty()) return {};
  for (const Json& value : values) {
    if (!value.is_array() && !value.is_object()) continue;
    return Error(Code::kUnimplemented, schema, list != nullptr ? "enum" : "const",
                 "unsupported where it must not hold: an array or an object");
  }
  ways.push_back(JsonObject{{std::string(kNotValues), std::move(values)}});
  return {};
}

// Keywords with schemas in them.
Status SchemaExpander::NegateParts(const Json& schema, JsonArray& ways) {
  const auto same = [&](const Json& part) { return document_.SameAs(part); };
  if (const Json* inner = schema.Find("not")) ways.push_back(same(*inner));
  if (const Json* reference = schema.Find("$ref"); reference != nullptr && reference->is_string()) {
    QUIRE_ASSIGN_OR_RETURN(const Json* target, document_.Resolve(schema, reference->string()));
    ways.push_back(Not(same(*target)));
  }
  if (schema.Find("allOf") != nullptr) {
    QUIRE_ASSIGN_OR_RETURN(const JsonArray* all, SchemaList(document_, schema, "allOf"));
    for (const Json& member : *all) ways.push_back(Not(same(member)));
  }
  if (const Json* properties = schema.Find("properties")) {
    for (const auto& [name, member] : properties->object()) {
      ways.push_back(JsonObject{{"type", "object"},
                                {"required", JsonArray{name}},
                                {"properties", JsonObject{{name, Not(same(member))}}}});
    }
  }
  if (const Json* required = schema.Find("required")) {
    for (const Json& name : required->array()) {
      ways.push_back(Typed("object", "properties", JsonObject{{name.string(), false}}));
    }
  }
  if (const Json* dependents = schema.Find("dependentRequired");
      dependents != nullptr && dependents->is_object()) {
    for (const auto& [name, wanted] : dependents->object()) {
      if (!wanted.is_array()) continue;
      for (const Json& other : wanted.array()) {
        if (!other.is_string()) continue;
        ways.push_back(JsonObject{{"type", "object"},
                                  {"required", JsonArray{name}},
                                  {"properties", JsonObject{{other.string(), false}}}});
      }
    }
  }
  if (const Json* condition = schema.Find("if")) {
    const Json* then = schema.Find("then");
    const Json* otherwise = schema.Find("else");
    if (then != nullptr) {
      ways.push_back(JsonObject{{"allOf", JsonArray{same(*condition), Not(same(*then))}}});
    }
    if (otherwise != nullptr) {
      ways.push_back(
          JsonObject{{"allOf", JsonArray{Not(same(*condition)), Not(same(*otherwise))}}});
    }
  }
  return NegateItems(schema, ways);
}

Status SchemaExpander::NegateItems(const Json& schema, JsonArray& ways) {
  const auto same = [&](const Json& part) { return document_.SameAs(part); };
  const Json* items = schema.Find("items");
  const Json* prefix = schema.Find("prefixItems");
  if (items != nullptr && items->is_array()) {
    if (schema.Find("additionalItems") != nullptr) {
      return Error(Code::kUnimplemented, schema, "additionalItems",
                   "unsupported where it must not hold");
    }
    prefix = std::exchange(items, nullptr);
  }
  if (prefix != nullptr) {
    JsonArray before;
    for (const Json& item : prefix->array()) {
      before.push_back(Not(same(item)));
      ways.push_back(JsonObject{{"type", "array"},
                                {"minItems", static_cast<std::int64_t>(before.size())},
                                {"prefixItems", before}});
      before.back() = Json(true);
    }
  }
  if (items != nullptr) {
    if (prefix != nullptr) {
      return Error(Code::kUnimplemented, schema, "items", "unsupported where it must not hold");
    }
    ways.push_back(Typed("array", "contains", Not(same(*items))));
  }
  if (const Json* contained = schema.Find("contains")) {
    ways.push_back(Typed("array", "items", Not(same(*contained))));
  }
  return {};
}

}  // namespace quire::structured
