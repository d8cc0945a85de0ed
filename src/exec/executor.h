// Where the workers are: the engine hands plans to an Executor and gets results back.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "base/status.h"
#include "config/engine_config.h"
#include "config/model_facts.h"
#include "step/plan.h"
#include "step/result.h"

namespace quire {

// Implemented inline (one rank, the caller's thread), by a worker on another thread that sees bytes
// only, and by the null device. One thread at a time.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual const ModelFacts& facts() const = 0;
  virtual Status InitKvCache(const KvCachePlan& plan) = 0;

  // Computes one step into `out`, whose memory is used again. A failure of one request stands in
  // its row; a failed Status means that no later step can pass before Reset.
  virtual Status Execute(const StepPlan& plan, StepResult& out) = 0;

  // After a failed step: forgets every request and the content of the KV cache; what was loaded
  // stays. On ok steps can pass again. kUnimplemented where that cannot be had.
  virtual Status Reset();

  // Raw logits of every position of one sequence, for evaluation: `consume` gets one row of
  // [vocab] after another. Not while a step is under way. kUnimplemented where there is no model.
  virtual Status EvaluateLogits(
      std::span<const TokenId> ids,
      const std::function<void(std::int64_t row, std::span<const float>)>& consume);
};

// Loads the model in this process and computes on the calling thread.
Result<std::unique_ptr<Executor>> CreateInlineExecutor(const EngineConfig& config,
                                                       const LoadProgress& progress);

}  // namespace quire
