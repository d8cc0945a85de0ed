// What tests of the scheduler share: a small scheduler's options and a worker without a model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kv/testing.h"
#include "sched/scheduler.h"

namespace quire {

inline SchedulerConfig SmallConfig() {
  SchedulerConfig config;
  config.options.max_num_batched_tokens = 32;
  config.options.max_num_seqs = 8;
  config.kv_spec = SpecOfWindows({0});
  config.num_blocks = 101;
  config.block_size = 4;
  config.max_model_len = 64;
  return config;
}

inline EngineRequest RequestOf(std::int64_t id, std::vector<TokenId> prompt, int max_tokens) {
  EngineRequest request;
  request.id = RequestId(id);
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  request.eos_token_ids = {2};
  return request;
}

// The result of a plan whose sampling rows all give `token`.
inline StepResult ResultOf(const StepPlan& plan, TokenId token) {
  StepResult result;
  result.step_id = plan.step_id;
  for (const ScheduledRow& row : plan.rows) {
    RowResult& out = result.rows.emplace_back();
    out.id = row.id;
    if (row.samples) out.tokens = {token};
  }
  return result;
}

}  // namespace quire
