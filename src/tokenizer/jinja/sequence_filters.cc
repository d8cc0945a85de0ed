// Filters on lists and dicts.
#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "tokenizer/jinja/filters.h"

namespace quire::jinja {

namespace {

Result<Value> Length(const FilterCall& call) {
  const Value& input = call.input;
  if (input.Is(Kind::kString)) return Value::Integer(LengthOf(input.text()));
  if (input.Is(Kind::kDict)) return Value::Integer(static_cast<Int>(input.pairs().size()));
  if (input.Is(Kind::kUndefined)) return Value::Integer(0);
  if (input.has_items() && !input.Is(Kind::kIterator)) {
    return Value::Integer(static_cast<Int>(input.items().size()));
  }
  return TypeError(StrCat("object of type '", TypeName(input), "' has no len()"));
}

Result<Value> First(const FilterCall& call) {
  QUIRE_ASSIGN_OR_RETURN(const Items items, call.Iterate());
  return items.empty() ? Value::Undefined("no first item, sequence was empty") : items.front();
}

Result<Value> Last(const FilterCall& call) {
  if (call.input.Is(Kind::kIterator)) return TypeError("'generator' object is not reversible");
  QUIRE_ASSIGN_OR_RETURN(const Items items, call.Iterate());
  return items.empty() ? Value::Undefined("no last item, sequence was empty") : items.back();
}

Result<Value> ToList(const FilterCall& call) {
  QUIRE_ASSIGN_OR_RETURN(Items items, call.Iterate());
  return Value::List(std::move(items));
}

Result<Value> ItemsOf(const FilterCall& call) {
  if (call.input.Is(Kind::kUndefined)) return Value::List({}, Kind::kIterator);
  if (!call.input.Is(Kind::kDict)) return TypeError("can only get item pairs from a mapping");
  Items items;
  QUIRE_RETURN_IF_ERROR(call.interpreter.SpendBytes(call.input.pairs().size() * 3 * sizeof(Value)));
  for (const auto& [key, value] : call.input.pairs()) items.push_back(Value::Tuple({key, value}));
  return Value::List(std::move(items), Kind::kIterator);
}

Result<Value> Reverse(const FilterCall& call) {
  QUIRE_ASSIGN_OR_RETURN(Items items, call.Iterate());
  std::reverse(items.begin(), items.end());
  // What cannot be gone through backwards becomes a list first.
  if (call.input.Is(Kind::kIterator)) return Value::List(std::move(items));
  if (!call.input.Is(Kind::kString)) return Value::List(std::move(items), Kind::kIterator);
  std::string text;
  for (const Value& item : items) text += item.text();
  return Value::String(std::move(text));
}

Result<Value> JoinItems(const FilterCall& call) {
  QUIRE_ASSIGN_OR_RETURN(const Items items, call.Iterate());
  const Value* given = call.Argument(0, "d");
  const std::string separator = given == nullptr ? "" : Str(*given);
  const Value* attribute = call.Argument(1, "attribute");
  std::string out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    QUIRE_ASSIGN_OR_RETURN(const Value item,
                           FollowAttribute(call.interpreter, items[i], attribute));
    const std::string text = Str(item);
    QUIRE_RETURN_IF_ERROR(call.interpreter.SpendBytes(text.size() + separator.size()));
    if (i > 0) out += separator;
    out += text;
  }
  return Value::String(std::move(out));
}

// Sorts by keys, which must all compare; stable also when reversed.
Status SortBy(std::vector<std::pair<Value, Value>>& keyed, bool is_reversed) {
  Status status;
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    const Result<bool> less = is_reversed ? Less(b.first, a.first) : Less(a.first, b.first);
    if (!less.ok() && status.ok()) status = less.status();
    return less.ok() && *less;
  });
  return status;
}

// The key of an item by "a,b.c": one value, or a list of them.
Result<Value> KeyOf(const FilterCall& call, const Value& item, const Value* attribute,
                    bool is_case_sensitive) {
  if (attribute == nullptr || !attribute->Is(Kind::kString) ||
      attribute->text().find(',') == std::string::npos) {
    QUIRE_ASSIGN_OR_RETURN(const Value value, FollowAttribute(call.interpreter, item, attribute));
    return SortKey(value, is_case_sensitive);
  }
  Items keys;
  for (const std::string_view part : Split(attribute->text(), ',')) {
    const Value name = Value::String(std::string(Strip(part, std::nullopt, true, true)));
    QUIRE_ASSIGN_OR_RETURN(const Value value, FollowAttribute(call.interpreter, item, &name));
    keys.push_back(SortKey(value, is_case_sensitive));
  }
  return Value::List(std::move(keys));
}

// Sorting takes n log n comparisons.
Status SpendSort(const FilterCall& call, std::size_t count) {
  std::int64_t steps = 0;
  for (std::size_t n = count; n > 1; n /= 2) steps += static_cast<std::int64_t>(count);
  return call.interpreter.Spend(steps);
}

Result<Value> Sort(const FilterCall& call) {
  QUIRE_ASSIGN_OR_RETURN(const Items items, call.Iterate());
  QUIRE_RETURN_IF_ERROR(SpendSort(call, items.size()));
  const bool is_reversed = BoolArgument(call.arguments, 0, "reverse", false);
  const bool is_case_sensitive = BoolArgument(call.arguments, 1, "case_sensitive", false);
  const Value* attribute = call.Argument(2, "attribute");
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value& item : items) {
    QUIRE_ASSIGN_OR_RETURN(Value key, KeyOf(call, item, attribute, is_case_sensitive));
    keyed.emplace_back(std::move(key), item);
  }
  QUIRE_RETURN_IF_ERROR(SortBy(keyed, is_reversed));
  Items out;
  for (auto& [key, item] : keyed) out.push_back(std::move(item));
  return Value::List(std::move(out));
}

Result<Value> DictSort(const FilterCall& call) {
  if (!call.input.Is(Kind::kDict)) return TypeError("dictsort needs a mapping");
  const bool is_case_sensitive = BoolArgument(call.arguments, 0, "case_sensitive", false);
  QUIRE_ASSIGN_OR_RETURN(const std::string by, TextArgument(call.arguments, 1, "by", "key"));
  const bool is_reversed = BoolArgument(call.arguments, 2, "reverse", false);
  if (by != "key" && by != "value") {
    return InvalidArgument("you can only sort by either \"key\" or \"value\"");
  }
  QUIRE_RETURN_IF_ERROR(SpendSort(call, call.input.pairs().size()));
  std::vector<std::pair<Value, Value>> keyed;
  for (const auto& [key, value] : call.input.pairs()) {
    keyed.emplace_back(SortKey(by == "key" ? key : value, is_case_sensitive),
                       Value::Tuple({key, value}));
  }
  QUIRE_RETURN_IF_ERROR(SortBy(keyed, is_reversed));
  Items out;
  for (auto& [key, item] : keyed) out.push_back(std::move(item));
  return Value::List(std::move(out));
}

Result<Value> Unique(const FilterCall& call) {
  QUIRE_ASSIGN_OR_RETURN(const Items items, call.Iterate());
  const bool is_case_sensitive = BoolArgument(call.arguments, 0, "case_sensitive", false);
  const Value* attribute = call.Argument(1, "attribute");
  Items seen, out;
  for (const Value& item : items) {
    QUIRE_ASSIGN_OR_RETURN(Value key, KeyOf(call, item, attribute, is_case_sensitive));
    QUIRE_RETURN_IF_ERROR(call.interpreter.Spend(static_cast<std::int64_t>(seen.size())));
    const bool is_known = std::any_of(seen.begin(), seen.end(),
                                      [&](const Value& other) { return Equal(other, key); });
    if (is_known) continue;
    seen.push_back(std::move(key));
    out.push_back(item);
  }
  return Value::List(std::move(out), Kind::kIterator);
}

template <bool kIsMax>
Result<Value> Extreme(const FilterCall& call) {
  QUIRE_ASSIGN_OR_RETURN(const Items items, call.Iterate());
  const bool is_case_sensitive = BoolArgument(call.arguments, 0, "case_sensitive", false);
  const Value* attribute = call.Argument(1, "attribute");
  if (items.empty()) return Value::Undefined("no aggregated item, sequence was empty");
  std::size_t best = 0;
  Value best_key;
  for (std::size_t i = 0; i < items.size(); ++i) {
    QUIRE_ASSIGN_OR_RETURN(Value key, KeyOf(call, items[i], attribute, is_case_sensitive));
    if (i > 0) {
      QUIRE_ASSIGN_OR_RETURN(const bool is_better,
                             kIsMax ? Less(best_key, key) : Less(key, best_key));
      if (!is_better) continue;
    }
    best = i;
    best_key = std::move(key);
  }
  return items[best];
}

Result<Value> Sum(const FilterCall& call) {
  QUIRE_ASSIGN_OR_RETURN(const Items items, call.Iterate());
  const Value* attribute = call.Argument(0, "attribute");
  const Value* start = call.Argument(1, "start");
  Value sum = start == nullptr ? Value::Integer(0) : *start;
  for (const Value& item : items) {
    QUIRE_ASSIGN_OR_RETURN(const Value value, FollowAttribute(call.interpreter, item, attribute));
    QUIRE_ASSIGN_OR_RETURN(sum, Add(call.interpreter, sum, value));
  }
  return sum;
}

Result<Value> GroupBy(const FilterCall& call) {
  QUIRE_ASSIGN_OR_RETURN(const Items items, call.Iterate());
  const Value* attribute = call.Argument(0, "attribute");
  const Value* fallback = call.Argument(1, "default");
  const bool is_case_sensitive = BoolArgument(call.arguments, 2, "case_sensitive", false);
  if (attribute == nullptr) return TypeError("groupby needs an attribute");
  QUIRE_RETURN_IF_ERROR(SpendSort(call, items.size()));
  std::vector<std::pair<Value, Value>> keyed;  // key and item; the key as it is kept beside
  for (const Value& item : items) {
    QUIRE_ASSIGN_OR_RETURN(Value value, FollowAttribute(call.interpreter, item, attribute));
    if (value.Is(Kind::kUndefined) && fallback != nullptr) value = *fallback;
    keyed.emplace_back(SortKey(value, is_case_sensitive), Value::Tuple({value, item}));
  }
  QUIRE_RETURN_IF_ERROR(SortBy(keyed, false));
  Items out;
  for (std::size_t i = 0; i < keyed.size();) {
    Items group;
    const std::size_t first = i;
    for (; i < keyed.size() && Equal(keyed[i].first, keyed[first].first); ++i) {
      group.push_back(keyed[i].second.items()[1]);
    }
    out.push_back(Value::Tuple({keyed[first].second.items()[0], Value::List(std::move(group))}));
  }
  return Value::List(std::move(out));
}

Result<Value> Batch(const FilterCall& call) {
  QUIRE_ASSIGN_OR_RETURN(const Items items, call.Iterate());
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t count, IntArgument(call.arguments, 0, "linecount", 1));
  const Value* fill = call.Argument(1, "fill_with");
  if (count < 1 || count > 1'000'000) return InvalidArgument("batch: the count must be positive");
  Items out, row;
  for (const Value& item : items) {
    if (static_cast<std::int64_t>(row.size()) == count) {
      out.push_back(Value::List(std::exchange(row, {})));
    }
    row.push_back(item);
  }
  if (!row.empty()) {
    const bool fills = fill != nullptr && !fill->Is(Kind::kNone);
    if (fills) {
      QUIRE_RETURN_IF_ERROR(
          call.interpreter.SpendBytes(static_cast<std::size_t>(count) * sizeof(Value)));
    }
    while (fills && static_cast<std::int64_t>(row.size()) < count) row.push_back(*fill);
    out.push_back(Value::List(std::move(row)));
  }
  return Value::List(std::move(out), Kind::kIterator);
}

Result<Value> Slice(const FilterCall& call) {
  QUIRE_ASSIGN_OR_RETURN(const Items items, call.Iterate());
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t count, IntArgument(call.arguments, 0, "slices", 1));
  const Value* fill = call.Argument(1, "fill_with");
  if (count < 1 || count > 1'000'000) return InvalidArgument("slice: the count must be positive");
  QUIRE_RETURN_IF_ERROR(
      call.interpreter.SpendBytes(static_cast<std::size_t>(count) * sizeof(Value)));
  const auto slices = static_cast<std::size_t>(count);
  const std::size_t each = items.size() / slices, longer = items.size() % slices;
  Items out;
  std::size_t at = 0;
  for (std::size_t i = 0; i < slices; ++i) {
    const std::size_t size = each + (i < longer ? 1 : 0);
    const auto first = items.begin() + static_cast<std::ptrdiff_t>(at);
    Items part(first, first + static_cast<std::ptrdiff_t>(size));
    at += size;
    if (fill != nullptr && !fill->Is(Kind::kNone) && i >= longer) part.push_back(*fill);
    out.push_back(Value::List(std::move(part)));
  }
  return Value::List(std::move(out), Kind::kIterator);
}

constexpr NamedFilter kFilters[] = {
    {"length", Length},      {"count", Length},      {"first", First},     {"last", Last},
    {"list", ToList},        {"items", ItemsOf},     {"reverse", Reverse}, {"join", JoinItems},
    {"sort", Sort},          {"dictsort", DictSort}, {"unique", Unique},   {"max", Extreme<true>},
    {"min", Extreme<false>}, {"sum", Sum},           {"groupby", GroupBy}, {"batch", Batch},
    {"slice", Slice},
};

}  // namespace

std::span<const NamedFilter> SequenceFilters() { return kFilters; }

}  // namespace quire::jinja
