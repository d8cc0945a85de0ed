// Grammars as users write them: xgrammar's EBNF and llama.cpp's GBNF, which mostly agree.
#pragma once

#include <string_view>

#include "base/status.h"
#include "structured/grammar.h"

namespace quire::structured {

// Reads `name ::= body` rules into `grammar` and gives the one called `root`. Bodies have "texts",
// [classes], ".", names, groups, |, *, +, ? and {m,n}; # begins a comment. A body goes on over line
// ends up to the next `name ::=`.
//
//   kInvalidArgument    line and what is wrong: syntax, a rule that is missing or stands twice
//   kUnimplemented      look-ahead, macros, token references
//   kResourceExhausted  too long, too deep, or too large repetitions
Result<Grammar::Rule> ParseEbnf(std::string_view text, Grammar& grammar);

}  // namespace quire::structured
