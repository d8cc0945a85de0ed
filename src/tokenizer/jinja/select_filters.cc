// Filters that apply other filters and tests to each item: map, select, reject.
#include <utility>

#include "base/strings.h"
#include "tokenizer/jinja/filters.h"

namespace quire::jinja {

namespace {

// The arguments after the first `count`.
Arguments After(const Arguments& arguments, std::size_t count) {
  Arguments out;
  for (std::size_t i = count; i < arguments.positional.size(); ++i) {
    out.positional.push_back(arguments.positional[i]);
  }
  out.named = arguments.named;
  return out;
}

// The original looks at neither the items nor the arguments of what is false.
Value Nothing() { return Value::List({}, Kind::kIterator); }

Result<Value> Map(const FilterCall& call) {
  if (!IsTrue(call.input)) return Nothing();
  QUIRE_ASSIGN_OR_RETURN(const Items items, call.Iterate());
  const Value* attribute = call.arguments.Named("attribute");
  const Value* fallback = call.arguments.Named("default");
  Items out;
  out.reserve(items.size());
  if (attribute != nullptr && call.arguments.positional.empty()) {
    for (const Value& item : items) {
      QUIRE_ASSIGN_OR_RETURN(Value value, FollowAttribute(call.interpreter, item, attribute));
      if (value.Is(Kind::kUndefined) && fallback != nullptr) value = *fallback;
      out.push_back(std::move(value));
    }
    return Value::List(std::move(out), Kind::kIterator);
  }
  QUIRE_ASSIGN_OR_RETURN(const std::string name, TextArgument(call.arguments, 0, "", ""));
  if (name.empty()) return TypeError("map requires a filter argument");
  const Arguments rest = After(call.arguments, 1);
  for (const Value& item : items) {
    QUIRE_ASSIGN_OR_RETURN(out.emplace_back(), call.interpreter.ApplyFilter(name, item, rest));
  }
  return Value::List(std::move(out), Kind::kIterator);
}

// select, reject, selectattr and rejectattr.
template <bool kKeeps, bool kByAttribute>
Result<Value> Select(const FilterCall& call) {
  if (!IsTrue(call.input)) return Nothing();
  QUIRE_ASSIGN_OR_RETURN(const Items items, call.Iterate());
  constexpr std::size_t kFirst = kByAttribute ? 1 : 0;
  const Value* attribute = kByAttribute ? call.Argument(0, "") : nullptr;
  if (kByAttribute && attribute == nullptr)
    return TypeError("missing parameter for attribute name");
  const bool has_test = call.arguments.positional.size() > kFirst;
  std::string name;
  if (has_test) {
    QUIRE_ASSIGN_OR_RETURN(name, TextArgument(call.arguments, kFirst, "", ""));
  }
  const Arguments rest = After(call.arguments, kFirst + 1);
  Items out;
  for (const Value& item : items) {
    QUIRE_ASSIGN_OR_RETURN(const Value value, FollowAttribute(call.interpreter, item, attribute));
    bool holds = IsTrue(value);
    if (has_test) {
      QUIRE_ASSIGN_OR_RETURN(holds, call.interpreter.ApplyTest(name, value, rest));
    }
    if (holds == kKeeps) out.push_back(item);
  }
  return Value::List(std::move(out), Kind::kIterator);
}

constexpr NamedFilter kFilters[] = {
    {"map", Map},
    {"select", Select<true, false>},
    {"reject", Select<false, false>},
    {"selectattr", Select<true, true>},
    {"rejectattr", Select<false, true>},
};

}  // namespace

std::span<const NamedFilter> SelectFilters() { return kFilters; }

}  // namespace quire::jinja
