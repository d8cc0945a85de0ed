// Log-probabilities of one position.
#pragma once

#include <span>

#include "sample/sampler.h"

namespace quire {

// LogprobsOf into a buffer that is used again, of logits whose LogSumExp is `log_sum`; with 0 it is
// the logits themselves.
void FillLogprobs(std::span<const float> logits, float log_sum, TokenId token, int count,
                  std::span<const TokenId> extra, PositionLogprobs& out);

}  // namespace quire
