#include "structured/schema_grammar.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/strings.h"
#include "structured/schema_compiler.h"
#include "structured/schema_keywords.h"
#include "structured/string_set.h"
#include "structured/work_budget.h"

namespace quire::structured {
namespace {

constexpr std::int64_t kMaxCountedLength = 10'000;
constexpr std::size_t kMaxNodes = 400'000;
constexpr std::size_t kMaxRules = 20'000;  // of values

// Without an exponent, and without a fraction of zeros; as it is where that takes many digits.
std::string PlainNumber(const Json& value) {
  const std::optional<Decimal> decimal = DecimalOf(value);
  if (!decimal) return value.Dump();
  return StrCat(decimal->is_negative ? "-" : "", decimal->whole.empty() ? "0" : decimal->whole,
                decimal->fraction.empty() ? "" : ".", decimal->fraction);
}

}  // namespace

Grammar::Rule SchemaCompiler::RuleOf(const Conjunction& conjunction) {
  const auto [place, is_new] = rules_.try_emplace(conjunction, -1);
  if (is_new) {
    place->second = json_.grammar().AddRule();
    pending_.emplace_back(conjunction, place->second);
  }
  return place->second;
}

Grammar::Node SchemaCompiler::ValueOf(const Conjunction& conjunction) {
  Conjunction plain;
  for (const Json* schema : conjunction) {
    const Json* whole = &document_.Follow(*schema);
    const bool says_nothing =
        (whole->is_bool() && whole->boolean()) || (whole->is_object() && whole->object().empty());
    if (says_nothing || std::ranges::find(plain, whole) != plain.end()) continue;
    plain.push_back(whole);
  }
  return plain.empty() ? json_.AnyValue() : json_.grammar().Ref(RuleOf(plain));
}

// What goes beyond a bound is no mistake in the schema; it is told where, as other refusals are.
Status SchemaCompiler::Located(const Status& status, const Conjunction& conjunction) const {
  constexpr std::string_view kPrefix = "json schema: ";
  std::string_view message = status.message();
  if (message.starts_with(kPrefix)) message.remove_prefix(kPrefix.size());
  if (message.starts_with('#')) return status;
  const bool says_so = message.find("unsupported") != std::string_view::npos ||
                       status.code() == Code::kInvalidArgument;
  return SchemaError(status.code(), document_.PointerOf(*conjunction.front()),
                     StrCat(says_so ? "" : "unsupported: ", message));
}

Result<Grammar::Rule> SchemaCompiler::Compile() {
  const Grammar::Rule root = RuleOf({&document_.root()});
  while (!pending_.empty()) {
    const auto [conjunction, rule] = std::move(pending_.back());
    pending_.pop_back();
    QUIRE_RETURN_IF_ERROR(WorkBudget::Check());
    const Result<Node> body = Body(conjunction);
    if (!body.ok()) return Located(body.status(), conjunction);
    json_.grammar().SetBody(rule, *body);
    if (json_.grammar().size() > kMaxNodes || rules_.size() > kMaxRules) {
      return Located(ResourceExhausted("the grammar that it makes is too large"),
                     {&document_.root()});
    }
  }
  return root;
}

Result<Grammar::Node> SchemaCompiler::Body(const Conjunction& conjunction) {
  QUIRE_ASSIGN_OR_RETURN(const std::vector<Shape> shapes, expander_.Expand(conjunction));
  std::vector<Node> ways;
  for (const Shape& shape : shapes) {
    QUIRE_ASSIGN_OR_RETURN(const Node way, OfShape(shape));
    ways.push_back(way);
  }
  return json_.grammar().Choice(std::move(ways));
}

Result<Grammar::Node> SchemaCompiler::OfShape(const Shape& shape) {
  if (shape.values) return OfValues(shape);
  Grammar& grammar = json_.grammar();
  std::vector<Node> ways;
  const auto has = [&](unsigned kind) { return (shape.kinds & kind) != 0; };
  if (has(kObjectKind)) {
    QUIRE_ASSIGN_OR_RETURN(const Node object, Object(shape));
    ways.push_back(object);
  }
  if (has(kArrayKind)) {
    QUIRE_ASSIGN_OR_RETURN(const Node array, Array(shape));
    ways.push_back(array);
  }
  if (has(kStringKind)) {
    QUIRE_ASSIGN_OR_RETURN(const Node string, String(shape));
    ways.push_back(string);
  }
  if (has(kNumberKind)) {
    QUIRE_ASSIGN_OR_RETURN(const Node number, Number(shape));
    ways.push_back(number);
  }
  if (has(kTrueKind)) ways.push_back(grammar.Text("true"));
  if (has(kFalseKind)) ways.push_back(grammar.Text("false"));
  if (has(kNullKind)) ways.push_back(grammar.Text("null"));
  return grammar.Choice(std::move(ways));
}

// The values that all else allows.
Result<std::vector<const Json*>> SchemaCompiler::PossibleValues(const Shape& shape) const {
  std::vector<const Json*> values;
  std::optional<Dfa> strings;
  std::optional<Dfa> numbers;
  const bool is_bounded =
      !shape.bounds.empty() || !shape.steps.empty() || shape.is_integer || !shape.excluded.empty();
  for (const Json* value : *shape.values) {
    if ((shape.kinds & KindOf(*value)) == 0) continue;
    bool is_possible = true;
    if (value->is_string()) {
      if (!strings) {
        QUIRE_ASSIGN_OR_RETURN(strings, StringsOf(document_, shape));
      }
      is_possible = strings->Accepts(value->string());
    } else if (value->is_number() && is_bounded) {
      if (!numbers) {
        QUIRE_ASSIGN_OR_RETURN(numbers, NumbersOf(shape));
      }
      is_possible = numbers->Accepts(PlainNumber(*value));
    }
    if (is_possible) values.push_back(value);
  }
  return values;
}

Grammar::Node SchemaCompiler::Literal(const Json& value) {
  if (value.is_string()) return json_.StringLiteral(value.string());
  if (value.is_number()) return json_.NumberLiteral(value);
  return json_.grammar().Text(value.Dump());
}

Result<Grammar::Node> SchemaCompiler::OfValues(const Shape& shape) {
  QUIRE_ASSIGN_OR_RETURN(const auto values, PossibleValues(shape));
  std::vector<Node> ways;
  ways.reserve(values.size());
  for (const Json* value : values) ways.push_back(Literal(*value));
  return json_.grammar().Choice(std::move(ways));
}

Result<Dfa> SchemaCompiler::NumbersOf(const Shape& shape) const {
  Dfa numbers = shape.is_integer ? Integers() : PlainNumbers();
  for (const NumberBound& bound : shape.bounds) {
    QUIRE_ASSIGN_OR_RETURN(numbers, numbers.And(NumbersThat(bound.relations, bound.bound)));
  }
  for (const NumberStep& step : shape.steps) {
    QUIRE_ASSIGN_OR_RETURN(const Dfa multiples, MultiplesOf(step.step));
    QUIRE_ASSIGN_OR_RETURN(numbers,
                           step.is_multiple ? numbers.And(multiples) : numbers.AndNot(multiples));
  }
  for (const Json* value : shape.excluded) {
    if (!value->is_number()) continue;
    const std::optional<Decimal> decimal = DecimalOf(*value);
    if (!decimal) continue;
    QUIRE_ASSIGN_OR_RETURN(numbers, numbers.And(NumbersThat(kLess | kGreater, *decimal)));
  }
  return numbers;
}

Result<Grammar::Node> SchemaCompiler::Number(const Shape& shape) {
  const bool excludes_numbers =
      std::ranges::any_of(shape.excluded, [](const Json* value) { return value->is_number(); });
  if (shape.bounds.empty() && shape.steps.empty() && !excludes_numbers) {
    return shape.is_integer ? json_.AnyInteger() : json_.AnyNumber();
  }
  QUIRE_ASSIGN_OR_RETURN(const Dfa numbers, NumbersOf(shape));
  return json_.TextIn(numbers);
}

Result<Grammar::Node> SchemaCompiler::String(const Shape& shape) {
  const bool excludes_strings =
      std::ranges::any_of(shape.excluded, [](const Json* value) { return value->is_string(); });
  const bool is_plain = shape.patterns.empty() && shape.formats.empty() && !excludes_strings;
  if (is_plain) {
    if (shape.max_length != kUnbounded && shape.max_length < shape.min_length) {
      return json_.grammar().Nothing();
    }
    if (std::max(shape.min_length, shape.max_length) > kMaxCountedLength) {
      return ResourceExhausted(StrCat("json schema: minLength and maxLength: at most ",
                                      kMaxCountedLength, " can be counted"));
    }
    return json_.StringOfLength(static_cast<int>(shape.min_length),
                                static_cast<int>(shape.max_length));
  }
  Result<Dfa> strings = StringsOf(document_, shape);
  if (strings.ok()) return json_.StringIn(*strings);
  // One pattern that is too large for an automaton may still do as a tree.
  const bool is_one = shape.patterns.size() == 1 && shape.patterns[0].must_match &&
                      shape.formats.empty() && !excludes_strings && shape.min_length == 0 &&
                      shape.max_length == kUnbounded;
  if (strings.status().code() != Code::kResourceExhausted || !is_one) return strings.status();
  QUIRE_ASSIGN_OR_RETURN(Regex regex, ParseRegex(shape.patterns[0].pattern));
  if (!StripAnchors(regex)) return strings.status();
  return json_.StringLike(regex);
}

Result<Grammar::Rule> CompileSchema(std::string_view schema, const SchemaOptions& options,
                                    JsonText& json) {
  QUIRE_ASSIGN_OR_RETURN(SchemaDocument document, SchemaDocument::Parse(schema));
  SchemaCompiler compiler(std::move(document), options, json);
  return compiler.Compile();
}

}  // namespace quire::structured
