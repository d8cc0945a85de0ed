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

  // One step in two halves, so that the masks of constrained requests can be made during the
  // forward. Begin takes the plan in and computes, or starts to; Finish waits until that is done
  // and draws the tokens into `out`, whose memory is used again. Each Begin that is ok is followed
  // by one Finish with the same plan, which stays as it is in between.
  //
  // A failure of one request stands in its row; a failed Status of either half means that no later
  // step can pass before Reset.
  virtual Status Begin(const StepPlan& plan) = 0;
  virtual Status Finish(const StepPlan& plan, const StepMasks& masks, StepResult& out) = 0;

  // Both halves of a step without masks.
  Status Execute(const StepPlan& plan, StepResult& out);

  // Whether Begin returns while something else computes than the thread that called it, so that
  // what the caller does until Finish costs the step nothing. Constant. Where it is so, masks are
  // made then; elsewhere they are as dear at any time, and made before the next plan, to which they
  // tell tokens without an alternative.
  virtual bool computes_aside() const { return false; }

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
