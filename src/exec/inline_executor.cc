// One rank in this process, computed by the thread that asks.
#include <utility>

#include "exec/executor.h"
#include "runner/model_runner.h"

namespace quire {
namespace {

class InlineExecutor : public Executor {
 public:
  explicit InlineExecutor(std::unique_ptr<ModelRunner> runner) : runner_(std::move(runner)) {}

  const ModelFacts& facts() const override { return runner_->facts(); }
  Status InitKvCache(const KvCachePlan& plan) override { return runner_->InitKvCache(plan); }
  Status Begin(const StepPlan& plan) override { return runner_->Begin(plan); }
  Status Finish(const StepPlan& plan, const StepMasks& masks, StepResult& out) override {
    return runner_->Finish(plan, masks, out);
  }
  Status Reset() override { return runner_->Reset(); }
  Status EvaluateLogits(
      std::span<const TokenId> ids,
      const std::function<void(std::int64_t row, std::span<const float>)>& consume) override {
    return runner_->EvaluateLogits(ids, consume);
  }

 private:
  std::unique_ptr<ModelRunner> runner_;
};

}  // namespace

Result<std::unique_ptr<Executor>> CreateInlineExecutor(const EngineConfig& config,
                                                       const LoadProgress& progress) {
  QUIRE_ASSIGN_OR_RETURN(auto runner, ModelRunner::Load(config, progress));
  return std::unique_ptr<Executor>(new InlineExecutor(std::move(runner)));
}

}  // namespace quire
