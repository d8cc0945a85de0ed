// The tables of filters.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tokenizer/jinja/interpreter.h"

namespace quire::jinja {

// What a filter gets.
struct FilterCall {
  Interpreter& interpreter;
  const Value& input;
  const Arguments& arguments;

  const Value* Argument(std::size_t idx, std::string_view name) const {
    return jinja::Argument(arguments, idx, name);
  }
  // The input as text; undefined is an empty one.
  std::string Text() const { return Str(input); }
  Result<Items> Iterate() const;  // counts the steps
};

struct NamedFilter {
  std::string_view name;
  Result<Value> (*apply)(const FilterCall&);
};

std::span<const NamedFilter> TextFilters();      // text_filters.cc
std::span<const NamedFilter> SequenceFilters();  // sequence_filters.cc
std::span<const NamedFilter> SelectFilters();    // select_filters.cc
std::span<const NamedFilter> ValueFilters();     // filters.cc

// The value of `attribute`, "a.b.0" for more steps, of an item; the item itself for none.
Result<Value> FollowAttribute(Interpreter& interpreter, const Value& item, const Value* attribute);
// The key that sorting and comparing go by: lower case unless case matters.
Value SortKey(const Value& value, bool is_case_sensitive);

}  // namespace quire::jinja
