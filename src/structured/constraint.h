// From what a request asks of its answer to a grammar that a backend can compile.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "request/structured_output_params.h"

namespace quire {

// The grammar, in EBNF, of exactly the texts that `params` allows (or fewer: see
// structured/schema_grammar.h). Takes bounded time and memory whatever it is given.
//
// kInvalidArgument says what is wrong, with the JSON pointer and keyword, byte or line: what cannot
// be read; what cannot be enforced (the message holds the word unsupported); what no text
// satisfies; what is too large, too deep, or has too many combinations.
// Ends early where the thread's WorkBudget is spent.
struct GrammarText {
  std::string ebnf;
  std::string shortest;  // one of the shortest texts it admits, cut after 64 KiB
};
Result<GrammarText> GrammarTextOf(const StructuredOutputParams& params);

// The EBNF alone.
Result<std::string> GrammarOf(const StructuredOutputParams& params);

// "json schema", "regex", …
std::string_view NameOf(ConstraintKind kind);

}  // namespace quire
