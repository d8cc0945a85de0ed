// What one step gave: plain data from the workers to the scheduler.
#pragma once

#include <cstdint>
#include <vector>

#include "base/id.h"
#include "base/status.h"
#include "request/request.h"

namespace quire {

struct RowResult {
  RequestId id;
  std::vector<TokenId> tokens;             // sampled; accepted drafts first; empty: none was due
  std::vector<PositionLogprobs> logprobs;  // one a token, where asked for
  // Of the prompt tokens whose predecessors this step computed: entry j belongs to prompt position
  // num_computed_tokens + 1 + j.
  std::vector<PositionLogprobs> prompt_logprobs;
  std::vector<TokenId> draft_tokens;  // proposed for the next step
  Status error;                       // this request failed; the step went on
};

struct StepResult {
  std::uint64_t step_id = 0;
  std::vector<RowResult> rows;  // in the plan's order
};

}  // namespace quire
