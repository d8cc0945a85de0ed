// Whether a text obeys a constraint, by the matcher and the masks that generation uses.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "base/status.h"
#include "structured/backend.h"
#include "tokenizer/tokenizer.h"

namespace quire {

struct CheckedText {
  enum class Verdict {
    kAccepted,
    kRefused,     // the byte `at` may not stand there
    kIncomplete,  // a prefix of what is allowed
  } verdict = Verdict::kAccepted;
  std::size_t at = 0;  // bytes that could be taken in
};

// Feeds the text token by token, each looked up in the mask first. `vocab` is the backend's.
CheckedText CheckText(const GrammarBackend& backend, const CompiledGrammar& grammar,
                      const ConstraintVocabulary& vocab, const Tokenizer& tokenizer,
                      std::string_view text);

}  // namespace quire
