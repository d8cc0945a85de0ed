#include "engine/core.h"

#include <utility>

namespace quire {

EngineCore::EngineCore(std::unique_ptr<Executor> executor,
                       std::unique_ptr<StructuredOutputManager> structured,
                       std::unique_ptr<Scheduler> scheduler)
    : executor_(std::move(executor)),
      structured_(std::move(structured)),
      scheduler_(std::move(scheduler)) {}

Result<std::unique_ptr<EngineCore>> EngineCore::Create(const EngineConfig& config,
                                                       const KvCachePlan& plan,
                                                       std::unique_ptr<Executor> executor,
                                                       std::vector<TokenId> end_ids) {
  auto structured =
      std::make_unique<StructuredOutputManager>(executor->facts().vocab_size, std::move(end_ids));
  QUIRE_ASSIGN_OR_RETURN(
      auto scheduler,
      Scheduler::Create({.options = config.scheduler,
                         .kv_spec = executor->facts().kv_spec,
                         .num_blocks = plan.num_blocks,
                         .block_size = plan.block_size,
                         .max_model_len = plan.max_model_len,
                         .enable_prefix_caching = config.cache.enable_prefix_caching,
                         .prefix_hash_algo = config.cache.prefix_caching_hash_algo,
                         .constraint = structured.get()}));
  return std::unique_ptr<EngineCore>(
      new EngineCore(std::move(executor), std::move(structured), std::move(scheduler)));
}

Result<std::span<const EngineCoreOutput>> EngineCore::Step() {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const StepPlan& plan = scheduler_->Schedule();
  num_tokens_ = plan.num_tokens;
  admitted_.clear();
  for (const NewRequestData& data : plan.new_requests) admitted_.push_back(data.id);
  const auto scheduled = Clock::now();
  timing_ = {.schedule = scheduled - start};
  if (plan.empty()) return std::span<const EngineCoreOutput>{};
  QUIRE_RETURN_IF_ERROR(executor_->Execute(plan, result_));
  const auto executed = Clock::now();
  timing_.execute = executed - scheduled;
  const auto outputs = scheduler_->Update(result_);
  timing_.update = Clock::now() - executed;
  return outputs;
}

}  // namespace quire
