#include "structured/schema_expander.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "structured/schema_keywords.h"
#include "structured/work_budget.h"

namespace quire::structured {
namespace {

constexpr int kMaxSteps = 200'000;       // applied schemas, over all of one compilation
constexpr std::size_t kMaxShapes = 512;  // of one conjunction
constexpr int kMaxDepth = 24;            // of one expansion inside another
constexpr std::size_t kMaxComparisons = 10'000'000;

bool IsScalar(const Json& value) { return !value.is_array() && !value.is_object(); }

}  // namespace

Status SchemaExpander::Error(Code code, const Json& schema, std::string_view keyword,
                             std::string_view message) const {
  return KeywordError(document_, code, schema, keyword, message);
}

Result<std::vector<Shape>> SchemaExpander::Expand(const Conjunction& conjunction) {
  if (depth_ >= kMaxDepth) {
    return ResourceExhausted("json schema: its choices are nested too deep");
  }
  Path path;
  for (auto schema = conjunction.rbegin(); schema != conjunction.rend(); ++schema) {
    path.pending.push_back({*schema, -1});
  }
  std::vector<Shape> shapes;
  ++depth_;
  const Status status = Run(std::move(path), shapes);
  --depth_;
  QUIRE_RETURN_IF_ERROR(status);
  return shapes;
}

Status SchemaExpander::Run(Path path, std::vector<Shape>& shapes) {
  QUIRE_ASSIGN_OR_RETURN(const bool is_possible, ApplyPending(path));
  if (!is_possible) return {};
  if (path.num_chosen == path.choices.size()) {
    if (shapes.size() >= kMaxShapes) {
      return ResourceExhausted(
          StrCat("json schema: its choices make more than ", kMaxShapes, " combinations"));
    }
    shapes.push_back(std::move(path.shape));
    return {};
  }
  const Choice choice = path.choices[path.num_chosen++];
  for (const Conjunction& option : choice.options) {
    Path fork = path;
    for (auto schema = option.rbegin(); schema != option.rend(); ++schema) {
      fork.pending.push_back({*schema, choice.parent});
    }
    QUIRE_RETURN_IF_ERROR(Run(std::move(fork), shapes));
  }
  return {};
}

Result<bool> SchemaExpander::ApplyPending(Path& path) {
  while (!path.pending.empty()) {
    const Pending next = path.pending.back();
    path.pending.pop_back();
    const Json& schema = document_.Follow(*next.schema);
    for (int at = next.parent; at >= 0; at = path.applied[static_cast<std::size_t>(at)].parent) {
      if (path.applied[static_cast<std::size_t>(at)].schema != &schema) continue;
      return Error(Code::kInvalidArgument, schema, "$ref", "leads only back to itself");
    }
    const auto is_same = [&](const Pending& other) { return other.schema == &schema; };
    if (std::ranges::any_of(path.applied, is_same)) continue;
    QUIRE_RETURN_IF_ERROR(WorkBudget::Check());
    if (++num_steps_ > kMaxSteps) {
      return ResourceExhausted("json schema: its choices multiply beyond what is tried");
    }
    path.applied.push_back({&schema, next.parent});
    QUIRE_ASSIGN_OR_RETURN(const bool is_possible, Apply(schema, path));
    if (!is_possible) return false;
  }
  return true;
}

Result<bool> SchemaExpander::Apply(const Json& schema, Path& path) {
  if (schema.is_bool()) return schema.boolean();
  QUIRE_ASSIGN_OR_RETURN(const bool is_possible, ApplyKeywords(document_, schema, path.shape));
  if (!is_possible) return false;
  QUIRE_RETURN_IF_ERROR(AddValues(schema, path));
  if (path.shape.values && path.shape.values->empty()) return false;
  QUIRE_RETURN_IF_ERROR(AddConjuncts(schema, path));
  QUIRE_RETURN_IF_ERROR(AddChoices(schema, path));
  return true;
}

// const and enum. Scalars become a list, arrays and objects schemas that spell them out.
Status SchemaExpander::AddValues(const Json& schema, Path& path) {
  std::vector<const Json*> scalars;
  Choice choice{.options = {}, .parent = static_cast<int>(path.applied.size()) - 1};
  const Json* list = schema.Find("enum");
  const Json* constant = schema.Find("const");
  if (list == nullptr && constant == nullptr) return {};
  if (list != nullptr && !list->is_array()) {
    return Error(Code::kInvalidArgument, schema, "enum", "must be an array");
  }
  const auto is_allowed = [&](const Json& value) {
    return constant == nullptr || list == nullptr || IsSameValue(value, *constant);
  };
  const auto add = [&](const Json& value) {
    if (!is_allowed(value)) return;
    if (IsScalar(value)) {
      scalars.push_back(&value);
    } else {
      choice.options.push_back({&Constant(value)});
    }
  };
  if (list != nullptr) {
    for (const Json& value : list->array()) add(value);
  } else {
    add(*constant);
  }
  if (choice.options.empty()) {
    Shape& shape = path.shape;
    if (shape.values && shape.values->size() * scalars.size() > kMaxComparisons) {
      return ResourceExhausted("json schema: two long lists of values that hold at once");
    }
    if (shape.values) {
      std::erase_if(*shape.values, [&](const Json* value) {
        return std::ranges::none_of(scalars,
                                    [&](const Json* other) { return IsSameValue(*value, *other); });
      });
    } else {
      shape.values = std::move(scalars);
    }
    return {};
  }
  if (!scalars.empty()) {
    JsonArray values;
    for (const Json* scalar : scalars) values.push_back(*scalar);
    choice.options.push_back({&document_.Make(schema, JsonObject{{"enum", std::move(values)}})});
  }
  path.choices.push_back(std::move(choice));
  return {};
}

// The schema of exactly this array or object.
const Json& SchemaExpander::Constant(const Json& value) {
  const auto known = constants_.find(&value);
  if (known != constants_.end()) return *known->second;
  JsonObject schema;
  if (value.is_array()) {
    JsonArray prefix;
    for (const Json& item : value.array()) prefix.push_back(JsonObject{{"const", item}});
    const auto count = static_cast<std::int64_t>(prefix.size());
    schema = {{"type", "array"}, {"minItems", count}, {"maxItems", count}};
    if (count > 0) schema.emplace_back("prefixItems", std::move(prefix));
  } else {
    JsonObject properties;
    JsonArray required;
    for (const auto& [name, member] : value.object()) {
      properties.emplace_back(name, JsonObject{{"const", member}});
      required.emplace_back(name);
    }
    schema = {{"type", "object"},
              {"properties", std::move(properties)},
              {"required", std::move(required)},
              {"additionalProperties", false}};
  }
  const Json& made = document_.Make(value, std::move(schema));
  constants_[&value] = &made;
  return made;
}

Status SchemaExpander::AddConjuncts(const Json& schema, Path& path) {
  const int index = static_cast<int>(path.applied.size()) - 1;
  std::vector<Pending> added;
  if (const Json* reference = schema.Find("$ref")) {
    if (!reference->is_string()) {
      return Error(Code::kInvalidArgument, schema, "$ref", "must be a string");
    }
    QUIRE_ASSIGN_OR_RETURN(const Json* target, document_.Resolve(schema, reference->string()));
    added.push_back({target, index});
  }
  if (schema.Find("allOf") != nullptr) {
    QUIRE_ASSIGN_OR_RETURN(const JsonArray* all, SchemaList(document_, schema, "allOf"));
    for (const Json& member : *all) added.push_back({&member, index});
  }
  if (schema.Find("not") != nullptr) {
    QUIRE_ASSIGN_OR_RETURN(const Json* inner, SubSchema(document_, schema, "not"));
    QUIRE_ASSIGN_OR_RETURN(const Json* negated, Negate(*inner));
    added.push_back({negated, index});
  }
  path.pending.insert(path.pending.end(), added.rbegin(), added.rend());
  return {};
}

Status SchemaExpander::AddChoices(const Json& schema, Path& path) {
  const int index = static_cast<int>(path.applied.size()) - 1;
  if (schema.Find("anyOf") != nullptr) {
    QUIRE_ASSIGN_OR_RETURN(const JsonArray* any, SchemaList(document_, schema, "anyOf"));
    Choice choice{.options = {}, .parent = index};
    for (const Json& member : *any) choice.options.push_back({&member});
    path.choices.push_back(std::move(choice));
  }
  if (schema.Find("oneOf") != nullptr) QUIRE_RETURN_IF_ERROR(AddOneOf(schema, path));
  if (schema.Find("if") != nullptr) QUIRE_RETURN_IF_ERROR(AddCondition(schema, path));
  for (const std::string_view keyword : {"dependentRequired", "dependentSchemas", "dependencies"}) {
    if (schema.Find(keyword) != nullptr) {
      QUIRE_RETURN_IF_ERROR(AddDependents(schema, keyword, path));
    }
  }
  return {};
}

Status SchemaExpander::AddCondition(const Json& schema, Path& path) {
  QUIRE_ASSIGN_OR_RETURN(const Json* condition, SubSchema(document_, schema, "if"));
  const bool has_then = schema.Find("then") != nullptr;
  const bool has_else = schema.Find("else") != nullptr;
  if (!has_then && !has_else) return {};
  Conjunction holds = {condition};
  if (has_then) {
    QUIRE_ASSIGN_OR_RETURN(const Json* then, SubSchema(document_, schema, "then"));
    holds.push_back(then);
  }
  QUIRE_ASSIGN_OR_RETURN(const Json* negated, Negate(*condition));
  Conjunction fails = {negated};
  if (has_else) {
    QUIRE_ASSIGN_OR_RETURN(const Json* otherwise, SubSchema(document_, schema, "else"));
    fails.push_back(otherwise);
  }
  path.choices.push_back(
      {{std::move(holds), std::move(fails)}, static_cast<int>(path.applied.size()) - 1});
  return {};
}

// For each name: it is absent, or what depends on it holds.
Status SchemaExpander::AddDependents(const Json& schema, std::string_view keyword, Path& path) {
  const Json& dependents = *schema.Find(keyword);
  if (!dependents.is_object()) {
    return Error(Code::kInvalidArgument, schema, keyword, "must be an object");
  }
  for (const auto& [name, wanted] : dependents.object()) {
    const Json& absent =
        document_.Make(schema, JsonObject{{"properties", JsonObject{{name, false}}}});
    JsonArray required = {name};
    Conjunction holds;
    if (wanted.is_array()) {
      for (const Json& other : wanted.array()) {
        if (!other.is_string()) {
          return Error(Code::kInvalidArgument, schema, keyword, "must list names");
        }
        required.push_back(other);
      }
    } else if (wanted.is_object() || wanted.is_bool()) {
      holds.push_back(&wanted);
    } else {
      return Error(Code::kInvalidArgument, schema, keyword, "must be schemas or lists of names");
    }
    holds.push_back(
        &document_.Make(schema, JsonObject{{"type", "object"}, {"required", std::move(required)}}));
    path.choices.push_back(
        {{{&absent}, std::move(holds)}, static_cast<int>(path.applied.size()) - 1});
  }
  return {};
}

// Where two options exclude each other as they are, nothing needs to be said of it.
Status SchemaExpander::AddOneOf(const Json& schema, Path& path) {
  const int index = static_cast<int>(path.applied.size()) - 1;
  if (const auto known = one_of_.find(&schema); known != one_of_.end()) {
    path.choices.push_back({known->second, index});
    return {};
  }
  QUIRE_ASSIGN_OR_RETURN(const JsonArray* members, SchemaList(document_, schema, "oneOf"));
  std::vector<Conjunction> options;
  for (const Json& member : *members) options.push_back({&member});
  for (std::size_t i = 0; i < options.size(); ++i) {
    for (std::size_t j = i + 1; j < options.size(); ++j) {
      QUIRE_ASSIGN_OR_RETURN(const bool is_disjoint, AreDisjoint((*members)[i], (*members)[j]));
      if (is_disjoint) continue;
      const Result<const Json*> not_i = Negate((*members)[i]);
      const Result<const Json*> not_j = Negate((*members)[j]);
      for (const auto* negated : {&not_i, &not_j}) {
        if (negated->ok()) continue;
        return Error(negated->status().code(), schema, "oneOf",
                     StrCat("unsupported: options ", i, " and ", j,
                            " can hold at once, and one of them cannot be excluded (",
                            negated->status().message(), ")"));
      }
      options[i].push_back(*not_j);
      options[j].push_back(*not_i);
    }
  }
  one_of_[&schema] = options;
  path.choices.push_back({std::move(options), index});
  return {};
}

// Whether no value conforms to both, as far as can be told.
Result<bool> SchemaExpander::AreDisjoint(const Json& a, const Json& b) {
  if (depth_ >= kMaxDepth - 2) return false;
  const Result<std::vector<Shape>> shapes = Expand({&a, &b});
  if (!shapes.ok()) {
    // What is wrong with either is told where it is applied itself.
    if (shapes.status().code() == Code::kResourceExhausted) return shapes.status();
    num_steps_ += 100;  // an error's pointer is looked for in the whole schema
    return false;
  }
  for (const Shape& shape : *shapes) {
    QUIRE_ASSIGN_OR_RETURN(const bool is_empty, IsEmpty(shape));
    if (!is_empty) return false;
  }
  return true;
}

Result<bool> SchemaExpander::IsEmpty(const Shape& shape) {
  unsigned kinds = shape.kinds;
  if (shape.values) {
    unsigned possible = 0;
    for (const Json* value : *shape.values) possible |= KindOf(*value);
    kinds &= possible;
  }
  if ((kinds & kNumberKind) != 0 && !shape.bounds.empty() && !shape.values) {
    Dfa numbers = shape.is_integer ? Integers() : PlainNumbers();
    for (const NumberBound& bound : shape.bounds) {
      QUIRE_ASSIGN_OR_RETURN(numbers, numbers.And(NumbersThat(bound.relations, bound.bound)));
    }
    if (numbers.is_empty()) kinds &= ~kNumberKind;
  }
  if (shape.max_length != kUnbounded && shape.max_length < shape.min_length) kinds &= ~kStringKind;
  if (shape.max_items != kUnbounded && shape.max_items < shape.min_items) kinds &= ~kArrayKind;
  if (kinds != kObjectKind) return kinds == 0;
  if (depth_ >= kMaxDepth - 2) return false;
  for (const std::string& name : shape.required) {  // one that nothing can stand for
    Conjunction conjunction;
    for (const ObjectPart& part : shape.objects) {
      const Json* member = nullptr;
      if (part.properties != nullptr) {
        for (const auto& [key, value] : *part.properties) {
          if (key == name) member = &value;
        }
      }
      if (member == nullptr && part.patterns == nullptr) member = part.additional;
      if (member != nullptr) conjunction.push_back(member);
    }
    if (conjunction.empty()) continue;
    const Result<std::vector<Shape>> shapes = Expand(conjunction);
    if (!shapes.ok()) continue;
    bool is_empty = true;
    for (const Shape& inner : *shapes) {
      QUIRE_ASSIGN_OR_RETURN(const bool is_inner_empty, IsEmpty(inner));
      is_empty = is_empty && is_inner_empty;
    }
    if (is_empty) return true;
  }
  return false;
}

}  // namespace quire::structured
