#include "sched/stop_check.h"

#include <algorithm>
#include <vector>

namespace quire {
namespace {

bool Contains(const std::vector<TokenId>& ids, TokenId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

std::optional<Stop> CheckStop(const RequestState& state, std::int32_t max_model_len) {
  const SamplingParams& sampling = state.request.sampling;
  const TokenId last = state.tokens.back();
  if (state.num_generated() >= sampling.min_tokens) {
    if (!sampling.ignore_eos && Contains(state.request.eos_token_ids, last)) {
      return Stop{FinishReason::kStop, {}};
    }
    if (Contains(sampling.stop_token_ids, last)) return Stop{FinishReason::kStop, last};
  }
  if (state.num_generated() >= state.request.max_tokens || state.num_tokens() >= max_model_len) {
    return Stop{FinishReason::kLength, {}};
  }
  return std::nullopt;
}

}  // namespace quire
