#include "sched/stop_check.h"

#include <algorithm>
#include <span>
#include <vector>

namespace quire {
namespace {

bool Contains(const std::vector<TokenId>& ids, TokenId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

std::optional<Stop> CheckStop(RequestState& state, std::int32_t max_model_len) {
  const SamplingParams& sampling = state.request.sampling;
  const TokenId last = state.tokens.back();
  const auto num_prompt_tokens = static_cast<std::size_t>(state.num_prompt_tokens);
  const bool repeats = state.repetition.Hear(std::span(state.tokens).subspan(num_prompt_tokens));
  const bool may_stop = state.num_generated() >= sampling.min_tokens;
  if (may_stop) {
    if (!sampling.ignore_eos && Contains(state.request.eos_token_ids, last)) {
      return Stop{FinishReason::kStop, {}};
    }
    if (Contains(sampling.stop_token_ids, last)) return Stop{FinishReason::kStop, last};
  }
  if (state.num_generated() >= state.request.max_tokens || state.num_tokens() >= max_model_len) {
    return Stop{FinishReason::kLength, {}};
  }
  if (repeats && may_stop) return Stop{FinishReason::kRepetition, "repetition_detected"};
  return std::nullopt;
}

}  // namespace quire
