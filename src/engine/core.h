// The engine's turn: schedule, compute, update.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "config/engine_config.h"
#include "config/model_facts.h"
#include "engine/structured_output_manager.h"
#include "exec/executor.h"
#include "request/request.h"
#include "sched/scheduler.h"
#include "step/result.h"

namespace quire {

// Where the time of the last step went.
struct StepTiming {
  std::chrono::nanoseconds schedule{};
  std::chrono::nanoseconds execute{};
  std::chrono::nanoseconds update{};
};

// Scheduler and executor, driven by one thread. After a failed step nothing more can be done.
class EngineCore {
 public:
  // `executor` has its KV cache set up by `plan`; `end_ids` end a constrained answer.
  static Result<std::unique_ptr<EngineCore>> Create(const EngineConfig& config,
                                                    const KvCachePlan& plan,
                                                    std::unique_ptr<Executor> executor,
                                                    std::vector<TokenId> end_ids = {});

  Status Add(EngineRequest request) { return scheduler_->Add(std::move(request)); }
  void Abort(RequestId id) { scheduler_->Abort(id); }
  bool has_unfinished() const { return scheduler_->has_unfinished(); }
  SchedulerStats stats() const { return scheduler_->stats(); }

  // One step. Its outputs stay valid until the next call.
  Result<std::span<const EngineCoreOutput>> Step();

  // Outputs that came about without a step: aborted ones.
  std::vector<EngineCoreOutput> TakeOutputs() { return scheduler_->TakeOutputs(); }

  const StepTiming& last_timing() const { return timing_; }
  // The requests that the last step computed for the first time, or again after a preemption.
  std::span<const RequestId> last_admitted() const { return admitted_; }
  std::int32_t last_num_tokens() const { return num_tokens_; }
  Executor& executor() { return *executor_; }
  Scheduler& scheduler() { return *scheduler_; }

 private:
  EngineCore(std::unique_ptr<Executor> executor,
             std::unique_ptr<StructuredOutputManager> structured,
             std::unique_ptr<Scheduler> scheduler);

  std::unique_ptr<Executor> executor_;
  std::unique_ptr<StructuredOutputManager> structured_;
  std::unique_ptr<Scheduler> scheduler_;
  StepResult result_;  // kept for its memory
  StepTiming timing_;
  std::vector<RequestId> admitted_;
  std::int32_t num_tokens_ = 0;
};

}  // namespace quire
