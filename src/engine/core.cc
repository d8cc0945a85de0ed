#include "engine/core.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/structured_output_manager.h"

namespace quire {

namespace {

// vLLM's default: where several prompts may be in the middle of their prefill, one is long from 4 %
// of the context on.
SchedulerOptions WithThreshold(SchedulerOptions options, std::int32_t max_model_len) {
  if (options.max_num_partial_prefills > 1 && options.long_prefill_token_threshold == 0 &&
      options.enable_chunked_prefill) {
    options.long_prefill_token_threshold = std::max(1, max_model_len / 25);
  }
  return options;
}

}  // namespace

EngineCore::EngineCore(const SchedulerConfig& config, std::unique_ptr<Executor> executor,
                       std::unique_ptr<StructuredOutputManager> structured,
                       std::unique_ptr<Scheduler> scheduler)
    : config_(config),
      executor_(std::move(executor)),
      structured_(std::move(structured)),
      scheduler_(std::move(scheduler)) {}

EngineCore::~EngineCore() = default;

Result<std::unique_ptr<EngineCore>> EngineCore::Create(
    const EngineConfig& config, const KvCachePlan& plan, std::unique_ptr<Executor> executor,
    std::vector<TokenId> end_ids, std::function<std::string(TokenId)> text_of) {
  auto structured = std::make_unique<StructuredOutputManager>(
      StructuredOutputManager::Options{.vocab_size = executor->facts().vocab_size,
                                       .end_ids = std::move(end_ids),
                                       .text_of = std::move(text_of),
                                       .fills_aside = executor->computes_aside()});
  const SchedulerConfig scheduler_config = {
      .options = WithThreshold(config.scheduler, plan.max_model_len),
      .kv_spec = executor->facts().kv_spec,
      .num_blocks = plan.num_blocks,
      .block_size = plan.block_size,
      .max_model_len = plan.max_model_len,
      .enable_prefix_caching = config.cache.enable_prefix_caching,
      .prefix_hash_algo = config.cache.prefix_caching_hash_algo,
      .constraint = structured.get()};
  QUIRE_ASSIGN_OR_RETURN(auto scheduler, Scheduler::Create(scheduler_config));
  return std::unique_ptr<EngineCore>(new EngineCore(scheduler_config, std::move(executor),
                                                    std::move(structured), std::move(scheduler)));
}

Status EngineCore::Restart() {
  QUIRE_RETURN_IF_ERROR(executor_->Reset());
  QUIRE_ASSIGN_OR_RETURN(auto scheduler, Scheduler::Create(config_));
  if (scheduler_->is_paused()) scheduler->Pause(PauseMode::kKeep);
  before_restart_ = stats();
  scheduler_ = std::move(scheduler);
  structured_->Clear();
  admitted_.clear();
  report_ = {.scheduler = stats()};
  return {};
}

SchedulerStats EngineCore::stats() const {
  SchedulerStats stats = scheduler_->stats();
  stats.prefix_queries += before_restart_.prefix_queries;
  stats.prefix_hits += before_restart_.prefix_hits;
  stats.num_preemptions += before_restart_.num_preemptions;
  return stats;
}

const StepPlan& EngineCore::Schedule() {
  report_ = {.begin = std::chrono::steady_clock::now()};
  const StepPlan& plan = scheduler_->Schedule();
  admitted_.clear();
  for (const NewRequestData& data : plan.new_requests) admitted_.push_back(data.id);
  report_.num_rows = static_cast<std::int32_t>(plan.rows.size());
  report_.num_tokens = plan.num_tokens;
  for (const ScheduledRow& row : plan.rows) {
    const std::int64_t computed = row.num_computed_tokens;
    const std::int64_t added = row.num_new_tokens;
    report_.num_logit_rows += row.samples ? 1 : 0;
    report_.num_positions += computed + added;
    report_.num_pairs += added * computed + added * (added + 1) / 2;
  }
  for (const PrefillPart& part : scheduler_->prefills()) {
    ++report_.num_prefill_rows;
    report_.num_prefill_tokens += part.num_tokens;
  }
  report_.end = std::chrono::steady_clock::now();
  report_.timing.schedule = report_.end - report_.begin;
  return plan;
}

// The masks are made while the forward runs, where something else than this thread computes it.
Status EngineCore::Compute(const StepPlan& plan) {
  QUIRE_RETURN_IF_ERROR(executor_->Begin(plan));
  structured_->FillMasks(plan.step_id, masks_);
  return executor_->Finish(plan, masks_, result_);
}

Result<std::span<const EngineCoreOutput>> EngineCore::Step() {
  using Clock = std::chrono::steady_clock;
  const StepPlan& plan = Schedule();
  std::span<const EngineCoreOutput> outputs;
  if (!plan.empty()) {
    const auto scheduled = report_.end;
    QUIRE_RETURN_IF_ERROR(Compute(plan));
    const auto executed = Clock::now();
    report_.timing.execute = executed - scheduled;
    outputs = scheduler_->Update(result_);
    report_.end = Clock::now();
    report_.timing.update = report_.end - executed;
  }
  report_.scheduler = stats();
  return outputs;
}

}  // namespace quire
