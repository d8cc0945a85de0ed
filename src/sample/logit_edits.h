// What changes logits before a token is chosen: masks, biases and penalties, in vLLM's order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/id.h"
#include "sample/sampler.h"

namespace quire {

// Memory that EditLogits needs; empty between calls but for its capacity.
struct EditScratch {
  explicit EditScratch(std::int32_t vocab_size);

  std::vector<std::int32_t> counts;  // by token: how often in the output, kPromptOnly, or 0
  std::vector<TokenId> seen;         // the tokens whose count is not 0
  std::vector<float> allowed;        // logits of allowed_token_ids
};

// Logits of tokens whose bit is not set become -inf; an empty mask changes nothing.
void MaskByGrammar(std::span<const std::uint32_t> mask, std::span<float> logits);

// allowed_token_ids, bad_words, min_tokens, logit_bias, then the penalties: repetition over prompt
// and output, frequency and presence over the output. A forced token is all that is left, whatever
// the others say. Masked tokens are -inf, all others stay finite. Tokens outside the vocabulary are
// passed over.
void EditLogits(const SamplingRow& row, std::span<float> logits, EditScratch& scratch);

}  // namespace quire
