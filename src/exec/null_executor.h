// The null device: a worker whose forward costs nothing and whose tokens are scripted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "base/id.h"
#include "base/status.h"
#include "config/model_facts.h"
#include "exec/executor.h"

namespace quire {

// What measures and tests the control plane alone. Follows the plan as a real worker does, so that
// a plan that contradicts itself is refused here too; allocates nothing in a step that only goes on
// with known requests. One thread.
class NullExecutor : public Executor {
 public:
  // The token at place `output_idx` (from 0) of a request's answer.
  using Script = std::function<TokenId(RequestId id, std::int32_t output_idx)>;

  // Facts of a model of one full-attention layer with so many tokens in its vocabulary.
  static ModelFacts SmallFacts(std::int64_t vocab_size, std::int64_t max_positions);

  NullExecutor(ModelFacts facts, Script script);

  const ModelFacts& facts() const override { return facts_; }
  Status InitKvCache(const KvCachePlan& plan) override;
  Status Execute(const StepPlan& plan, StepResult& out) override;

 private:
  struct Known {
    std::int32_t num_prompt_tokens = 0;
    std::int32_t num_tokens = 0;
    std::int32_t num_blocks = 0;  // of the first KV group
    bool has_logprobs = false;
    bool has_prompt_logprobs = false;
  };
  void Admit(const NewRequestData& data);
  Status Run(const ScheduledRow& row, RowResult& result);
  void Sample(const ScheduledRow& row, Known& known, RowResult& result);

  const ModelFacts facts_;
  const Script script_;
  std::int32_t block_size_ = 16;
  std::unordered_map<RequestId, Known> known_;
};

}  // namespace quire
