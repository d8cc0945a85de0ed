// When a request has all the tokens it is to have.
#pragma once

#include <cstdint>
#include <optional>

#include "base/id.h"
#include "request/request.h"
#include "sched/request_state.h"

namespace quire {

struct Stop {
  FinishReason reason = FinishReason::kStop;
  StopReason stop_reason;
};

// Whether the last of the request's tokens, just generated, ends it. An end-of-sequence token goes
// before a stop token id, both before the limits, and those before repetition, whose stop reason is
// "repetition_detected"; but for the limits nothing counts before min_tokens. Called once for each
// token.
std::optional<Stop> CheckStop(RequestState& state, std::int32_t max_model_len);

}  // namespace quire
