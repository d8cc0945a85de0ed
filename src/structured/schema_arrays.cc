// How shapes become rules: arrays.
#include <algorithm>
#include <bit>
#include <utility>

#include "base/strings.h"
#include "structured/schema_compiler.h"
#include "structured/schema_keywords.h"

namespace quire::structured {
namespace {

constexpr std::int64_t kMaxCountedStates = 4000;
constexpr std::size_t kMaxUniqueValues = 10;  // 2^10 states

}  // namespace

// What holds for the item at `index`.
Conjunction SchemaCompiler::ItemAt(const Shape& shape, std::size_t index) const {
  Conjunction conjunction;
  for (const ArrayPart& part : shape.arrays) {
    if (part.prefix != nullptr && index < part.prefix->size()) {
      conjunction.push_back(&(*part.prefix)[index]);
    } else if (part.rest != nullptr) {
      conjunction.push_back(part.rest);
    }
  }
  return conjunction;
}

Grammar::Node SchemaCompiler::EmptyArray() {
  Grammar& grammar = json_.grammar();
  return grammar.Sequence({grammar.Text("["), json_.Gap(), grammar.Text("]")});
}

Result<Grammar::Node> SchemaCompiler::Array(const Shape& shape) {
  if (shape.max_items != kUnbounded && shape.max_items < shape.min_items) {
    return json_.grammar().Nothing();
  }
  std::size_t num_prefix = 0;
  for (const ArrayPart& part : shape.arrays) {
    if (part.prefix != nullptr) num_prefix = std::max(num_prefix, part.prefix->size());
  }
  const bool may_repeat = shape.max_items == kUnbounded || shape.max_items > 1;
  const bool must_differ = shape.unique != nullptr && may_repeat;
  if (num_prefix > 0 && (must_differ || !shape.contains.empty())) {
    const Json& at = must_differ ? *shape.unique : document_.root();
    return KeywordError(document_, Code::kUnimplemented, at,
                        must_differ ? "uniqueItems" : "contains",
                        "unsupported together with items at fixed places");
  }
  if (must_differ) return UniqueArray(shape);
  if (!shape.contains.empty()) return ContainingArray(shape);
  return PlainArray(shape, num_prefix);
}

// Items at fixed places, then any number of others.
Grammar::Node SchemaCompiler::PlainArray(const Shape& shape, std::size_t num_prefix) {
  Grammar& grammar = json_.grammar();
  const auto min = static_cast<std::size_t>(shape.min_items);
  const std::size_t max =
      shape.max_items == kUnbounded ? SIZE_MAX : static_cast<std::size_t>(shape.max_items);
  std::vector<Node> ways;
  if (min == 0) ways.push_back(EmptyArray());
  if (max == 0) return ways[0];
  const Conjunction rest = ItemAt(shape, num_prefix);
  // What may follow the first `num_prefix` items (one, where there are none).
  const std::size_t num_fixed = std::max<std::size_t>(1, num_prefix);
  Node tail = grammar.Empty();
  if (max > num_fixed) {
    constexpr std::size_t kMany = 1'000'000;
    const auto at_least = static_cast<int>(std::min(kMany, min > num_fixed ? min - num_fixed : 0));
    const int at_most = max - num_fixed > kMany ? kUnbounded : static_cast<int>(max - num_fixed);
    tail = grammar.Repeat(grammar.Sequence({json_.Comma(), ValueOf(rest)}), at_least, at_most);
  }
  for (std::size_t i = std::min(num_fixed, max); i-- > 0;) {
    const Node item = ValueOf(i < num_prefix ? ItemAt(shape, i) : rest);
    if (i == 0) {
      tail = grammar.Sequence({item, tail});
      break;
    }
    const Node one = grammar.Sequence({json_.Comma(), item, tail});
    tail = grammar.Ref(grammar.RuleOf(i < min ? one : grammar.Optional(one)));
  }
  ways.push_back(json_.Bracketed('[', tail, ']'));
  return grammar.Choice(std::move(ways));
}

// A rule for each number of items and of those that are contained, as far as either matters.
Result<Grammar::Node> SchemaCompiler::ContainingArray(const Shape& shape) {
  Grammar& grammar = json_.grammar();
  const ContainsRule& rule = shape.contains[0];
  const auto unsupported = [&](std::string_view what) {
    return KeywordError(document_, Code::kUnimplemented, *rule.schema, "contains",
                        StrCat("unsupported: ", what));
  };
  if (shape.contains.size() > 1) return unsupported("two that hold at once");
  const bool is_bounded = shape.max_items != kUnbounded;
  const std::int64_t item_cap = is_bounded ? shape.max_items : shape.min_items;
  const std::int64_t count_cap = rule.max != kUnbounded ? rule.max : rule.min;
  if ((item_cap + 1) * (count_cap + 1) > kMaxCountedStates) return unsupported("such large counts");
  if (rule.max != kUnbounded && rule.max < rule.min) return grammar.Nothing();
  const Conjunction any = ItemAt(shape, 0);
  Conjunction contained = any;
  contained.push_back(rule.schema);
  Conjunction other = any;
  if (rule.max != kUnbounded) {
    QUIRE_ASSIGN_OR_RETURN(const Json* negated, expander_.Negate(*rule.schema));
    other.push_back(negated);
  }
  std::vector<Grammar::Rule> rules;
  const auto place = [&](std::int64_t items, std::int64_t count) {
    return rules[static_cast<std::size_t>(items * (count_cap + 1) + count)];
  };
  const std::int64_t num_rules = (item_cap + 1) * (count_cap + 1);
  for (std::int64_t i = 0; i < num_rules; ++i) rules.push_back(grammar.AddRule());
  // One more rule stands for the array's start, which has no comma before its first item.
  const auto body = [&](std::int64_t items, std::int64_t count, bool is_first) {
    std::vector<Node> ways;
    if (items >= shape.min_items && count >= rule.min) ways.push_back(grammar.Empty());
    const bool has_room = !is_bounded || items < shape.max_items;
    const std::int64_t next = std::min(items + 1, item_cap);
    const auto add = [&](const Conjunction& value, std::int64_t next_count) {
      std::vector<Node> parts;
      if (!is_first) parts.push_back(json_.Comma());
      parts.push_back(ValueOf(value));
      parts.push_back(grammar.Ref(place(next, next_count)));
      ways.push_back(grammar.Sequence(std::move(parts)));
    };
    if (has_room) add(other, count);
    if (has_room && (count < count_cap || rule.max == kUnbounded)) {
      add(contained, std::min(count + 1, count_cap));
    }
    return grammar.Choice(std::move(ways));
  };
  for (std::int64_t items = 0; items <= item_cap; ++items) {
    for (std::int64_t count = 0; count <= count_cap; ++count) {
      grammar.SetBody(place(items, count), body(items, count, false));
    }
  }
  return json_.Bracketed('[', body(0, 0, true), ']');
}

// A rule for each set of values that have been used.
Result<Grammar::Node> SchemaCompiler::UniqueArray(const Shape& shape) {
  Grammar& grammar = json_.grammar();
  const auto unsupported = [&](std::string_view what) {
    return KeywordError(document_, Code::kUnimplemented, *shape.unique, "uniqueItems",
                        StrCat("unsupported: ", what));
  };
  if (!shape.contains.empty()) return unsupported("together with contains");
  QUIRE_ASSIGN_OR_RETURN(const std::vector<Shape> items, expander_.Expand(ItemAt(shape, 0)));
  std::vector<const Json*> values;
  static const Json kValues[] = {Json(nullptr), Json(false), Json(true)};
  const auto add = [&](const Json* value) {
    const auto is_same = [&](const Json* other) { return IsSameValue(*value, *other); };
    if (std::ranges::none_of(values, is_same)) values.push_back(value);
  };
  for (const Shape& item : items) {
    if (!item.values) {
      if ((item.kinds & ~(kNullKind | kFalseKind | kTrueKind)) != 0) {
        return unsupported("items that are not a short list of values");
      }
      for (const Json& value : kValues) {
        if ((item.kinds & KindOf(value)) != 0) add(&value);
      }
      continue;
    }
    QUIRE_ASSIGN_OR_RETURN(const auto possible, PossibleValues(item));
    for (const Json* value : possible) {
      if (values.size() <= kMaxUniqueValues) add(value);
    }
  }
  if (values.size() > kMaxUniqueValues) return unsupported("more than 10 possible items");
  const std::size_t num_sets = std::size_t{1} << values.size();
  std::vector<Grammar::Rule> rules;
  for (std::size_t i = 0; i < num_sets; ++i) rules.push_back(grammar.AddRule());
  for (std::size_t used = 0; used < num_sets; ++used) {
    const int count = std::popcount(used);
    std::vector<Node> ways;
    if (count >= shape.min_items) ways.push_back(grammar.Empty());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t bit = std::size_t{1} << i;
      if ((used & bit) != 0) continue;
      if (shape.max_items != kUnbounded && count >= shape.max_items) continue;
      std::vector<Node> parts;
      if (used != 0) parts.push_back(json_.Comma());
      parts.push_back(Literal(*values[i]));
      parts.push_back(grammar.Ref(rules[used | bit]));
      ways.push_back(grammar.Sequence(std::move(parts)));
    }
    grammar.SetBody(rules[used], grammar.Choice(std::move(ways)));
  }
  return json_.Bracketed('[', grammar.Ref(rules[0]), ']');
}

}  // namespace quire::structured
