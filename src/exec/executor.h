// Where the workers are: the engine hands plans to an Executor and gets results back.
#pragma once

#include <memory>
#include <span>

#include "base/status.h"
#include "config/engine_config.h"
#include "runner/model_runner.h"
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
  virtual Status Execute(const StepPlan& plan, StepResult& out) = 0;
};

// Loads the model in this process and computes on the calling thread.
Result<std::unique_ptr<Executor>> CreateInlineExecutor(const EngineConfig& config,
                                                       const LoadProgress& progress);

}  // namespace quire
