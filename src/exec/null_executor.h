// The null device: a worker whose forward computes nothing and whose tokens are scripted.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/id.h"
#include "base/status.h"
#include "config/model_facts.h"
#include "exec/executor.h"
#include "runner/batch.h"

namespace quire {

// What measures and tests the control plane alone. Builds a step's inputs as a real worker does, so
// a plan that contradicts itself is refused here too, and then computes nothing: at once, or for a
// given time, as a device beside the processor does. One thread.
class NullExecutor : public Executor {
 public:
  // The token at place `output_idx` (from 0) of a request's answer. Where the plan's mask does not
  // allow it, the lowest one that it does allow is taken.
  using Script = std::function<TokenId(RequestId id, std::int32_t output_idx)>;

  // Facts of a model of one full-attention layer with so many tokens in its vocabulary.
  static ModelFacts SmallFacts(std::int64_t vocab_size, std::int64_t max_positions);

  // Finish waits, asleep, until `forward_time` has passed since Begin.
  NullExecutor(ModelFacts facts, Script script, std::chrono::nanoseconds forward_time = {});

  const ModelFacts& facts() const override { return facts_; }
  Status InitKvCache(const KvCachePlan& plan) override;
  Status Begin(const StepPlan& plan) override;
  Status Finish(const StepPlan& plan, const StepMasks& masks, StepResult& out) override;
  bool computes_aside() const override { return forward_time_.count() > 0; }
  Status Reset() override { return InitKvCache(plan_); }

 private:
  void Score(const ScheduledRow& row, const BatchedRequest& request, RowResult& result) const;
  void Sample(const StepMasks& masks, const ScheduledRow& row, BatchedRequest& request,
              RowResult& result) const;

  const ModelFacts facts_;
  const Script script_;
  const std::chrono::nanoseconds forward_time_;
  std::chrono::steady_clock::time_point is_done_at_;
  KvCachePlan plan_;
  std::unique_ptr<Batch> batch_;
};

}  // namespace quire
