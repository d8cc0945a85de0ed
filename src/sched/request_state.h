// One request as the scheduler keeps it, from Add to its last output.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <vector>

#include "base/id.h"
#include "kv/block_table.h"
#include "request/request.h"
#include "sched/repetition.h"
#include "sched/thinking_budget.h"

namespace quire {

// Where a request stands among others: the lesser goes first. Under fcfs `priority` and `arrival`
// are equal for all. `order` is the order of Add; under fcfs a preempted request gets one before
// all that wait.
struct Rank {
  int priority = 0;
  std::chrono::steady_clock::time_point arrival{};
  std::int64_t order = 0;

  friend auto operator<=>(const Rank&, const Rank&) = default;
};

inline constexpr std::int32_t kNoRow = -1;

struct RequestState {
  EngineRequest request;        // its prompt has moved to `tokens`
  std::vector<TokenId> tokens;  // the prompt and what was generated
  std::int32_t num_prompt_tokens = 0;
  std::int32_t num_computed = 0;  // tokens whose K and V are in the cache, this step's included
  std::vector<TokenId> drafts;    // proposed after `tokens`
  RequestBlocks blocks;
  Rank rank;
  RequestStatus status = RequestStatus::kWaiting;
  std::int32_t row_idx = kNoRow;  // in the plan that is being computed
  bool is_aborted = false;        // its last output is given; it waits for the plan's result
  bool is_partial = false;        // running, and not all of `tokens` but the last are computed
  std::int32_t num_cached_tokens = -1;  // of the prompt, at its first admission; -1: not yet
  bool has_given_prompt_logprobs = false;
  std::vector<PositionLogprobs> prompt_logprobs;  // of the chunks so far
  RepetitionDetector repetition;                  // this and the next have heard what was generated
  ThinkingBudget thinking;

  std::int32_t num_tokens() const { return static_cast<std::int32_t>(tokens.size()); }
  std::int32_t num_drafts() const { return static_cast<std::int32_t>(drafts.size()); }
  std::int32_t num_generated() const { return num_tokens() - num_prompt_tokens; }
  bool is_constrained() const { return request.grammar != nullptr; }
  bool wants_prompt_logprobs() const {
    return request.sampling.prompt_logprobs.has_value() && !has_given_prompt_logprobs;
  }
};

}  // namespace quire
