// Log-probabilities of one position.
#pragma once

#include <span>

#include "sample/sampler.h"

namespace quire {

// LogprobsOf into a buffer that is used again.
void FillLogprobs(const kernels::CpuTable& table, std::span<const float> logits, TokenId token,
                  int count, std::span<const TokenId> extra, PositionLogprobs& out);

}  // namespace quire
