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
// before a stop token id, and both before the limits; neither counts before min_tokens.
std::optional<Stop> CheckStop(const RequestState& state, std::int32_t max_model_len);

}  // namespace quire
