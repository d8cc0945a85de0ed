// Runs one rank's model: takes a plan, builds the batch, computes, samples, gives the result.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/status.h"
#include "config/engine_config.h"
#include "config/model_facts.h"
#include "step/plan.h"
#include "step/result.h"

namespace quire {

// Persistent batch, block tables, buffers; everything is sized by InitKvCache. One thread at a
// time.
class ModelRunner {
 public:
  // Opens and loads the model that `config` names (a path, already located).
  static Result<std::unique_ptr<ModelRunner>> Load(const EngineConfig& config,
                                                   const LoadProgress& progress);
  ~ModelRunner();
  ModelRunner(const ModelRunner&) = delete;
  ModelRunner& operator=(const ModelRunner&) = delete;

  const ModelFacts& facts() const;

  // Allocates pages and buffers; before the first step.
  Status InitKvCache(const KvCachePlan& plan);

  // One step: Begin runs the model, Finish draws the tokens, with the same plan. A failure of one
  // request stands in its row; a failed Status means that this rank cannot go on.
  Status Begin(const StepPlan& plan);
  Status Finish(const StepPlan& plan, const StepMasks& masks, StepResult& out);

  // Forgets every request and the content of the KV cache; the model stays loaded.
  Status Reset();

  // Raw logits of all rows of one sequence, computed alone with fresh KV: [ids, vocab], for
  // evaluation. `consume` gets one row after another.
  Status EvaluateLogits(
      std::span<const TokenId> ids,
      const std::function<void(std::int64_t row, std::span<const float>)>& consume);

 private:
  struct State;
  explicit ModelRunner(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quire
