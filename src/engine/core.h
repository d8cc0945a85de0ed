// The engine's turn: schedule, compute, update.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "config/engine_config.h"
#include "config/model_facts.h"
#include "engine/step_report.h"
#include "exec/executor.h"
#include "request/request.h"
#include "sched/scheduler.h"
#include "step/result.h"

namespace quire {

class StructuredOutputManager;

// Scheduler and executor, driven by one thread. After a failed step nothing more can be done before
// Restart.
class EngineCore {
 public:
  // `executor` has its KV cache set up by `plan`; `end_ids` end a constrained answer, and
  // `text_of` gives a token's text.
  static Result<std::unique_ptr<EngineCore>> Create(
      const EngineConfig& config, const KvCachePlan& plan, std::unique_ptr<Executor> executor,
      std::vector<TokenId> end_ids = {}, std::function<std::string(TokenId)> text_of = {});
  ~EngineCore();

  Status Add(EngineRequest request) { return scheduler_->Add(std::move(request)); }
  void Abort(RequestId id) { scheduler_->Abort(id); }
  bool has_unfinished() const { return scheduler_->has_unfinished(); }
  SchedulerStats stats() const;

  // One step. Its outputs stay valid until the next call.
  Result<std::span<const EngineCoreOutput>> Step();

  // Begins anew after a failed step, with the model still loaded: every request is gone, without
  // an output, and so are the KV cache and its prefixes; counts go on. Where it fails it may be
  // tried again.
  Status Restart();

  // Outputs that came about without a step: aborted ones.
  std::vector<EngineCoreOutput> TakeOutputs() { return scheduler_->TakeOutputs(); }

  // Of the last step; also of one that had nothing to compute.
  const StepReport& last_report() const { return report_; }
  const StepTiming& last_timing() const { return report_.timing; }
  std::span<const PrefillPart> last_prefills() const { return scheduler_->prefills(); }
  // The requests that the last step computed for the first time, or again after a preemption.
  std::span<const RequestId> last_admitted() const { return admitted_; }
  Executor& executor() { return *executor_; }
  Scheduler& scheduler() { return *scheduler_; }

 private:
  EngineCore(const SchedulerConfig& config, std::unique_ptr<Executor> executor,
             std::unique_ptr<StructuredOutputManager> structured,
             std::unique_ptr<Scheduler> scheduler);
  const StepPlan& Schedule();
  Status Compute(const StepPlan& plan);

  const SchedulerConfig config_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<StructuredOutputManager> structured_;
  std::unique_ptr<Scheduler> scheduler_;
  StepMasks masks_;                // kept for its memory
  StepResult result_;              // likewise
  SchedulerStats before_restart_;  // the counts of the schedulers that are gone
  StepReport report_;
  std::vector<RequestId> admitted_;
};

}  // namespace quire
