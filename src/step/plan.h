// What one step is to do: plain data from the scheduler to the workers.
#pragma once

#include <cstdint>
#include <vector>

#include "base/id.h"
#include "request/sampling_params.h"

namespace quire {

// Block ids of one request, one list per KV group. The null block stands for blocks that fell out
// of a window: never read, never written.
using GroupBlocks = std::vector<std::vector<BlockId>>;

// What a worker must know of a request when it sees it first, or again after a preemption.
struct NewRequestData {
  RequestId id;
  std::vector<TokenId> tokens;  // prompt, and after a preemption the tokens generated before it
  std::int32_t num_prompt_tokens = 0;
  SamplingParams sampling;
  std::vector<TokenId> eos_token_ids;
  std::uint64_t seed = 0;
  GroupBlocks blocks;  // its whole block table so far, this step's blocks included
};

// One request's part of the step. Requests keep the order of the plan in the batch.
struct ScheduledRow {
  RequestId id;
  std::int32_t num_computed_tokens = 0;  // before this step
  std::int32_t num_new_tokens = 0;       // computed by this step, drafts included
  std::vector<TokenId> draft_tokens;     // proposed ones, at the end of the new tokens
  GroupBlocks new_blocks;  // appended to its block table; lists empty if it is in `new_requests`
  bool samples = false;    // the last new token's logits give the next token
  // The first of its rows in the step's masks, one more for each draft; -1: unconstrained.
  std::int32_t grammar_row = -1;
  // What `samples` must give whatever the logits are; -1: anything. Not in a row with drafts.
  TokenId forced_token = -1;
};

struct StepPlan {
  std::uint64_t step_id = 0;
  std::vector<NewRequestData> new_requests;
  std::vector<ScheduledRow> rows;
  // Ended or preempted since the last plan: forget them, where they are known, before anything
  // else. A preempted request comes again in `new_requests`, in this plan at the earliest.
  std::vector<RequestId> finished;
  std::int32_t num_tokens = 0;  // sum of num_new_tokens

  bool empty() const { return rows.empty(); }
};

// Which tokens the constrained requests of a step may have. Nobody needs them before the step's
// forward is done, so they come after the plan.
struct StepMasks {
  std::uint64_t step_id = 0;
  std::vector<std::uint32_t> words;  // rows of ceil(vocab / 32), a bit for each token
};

}  // namespace quire
