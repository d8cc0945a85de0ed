#include "sched/scheduler.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/strings.h"

namespace quire {
namespace {

Status ValidateOptions(const SchedulerOptions& options) {
  if (options.max_num_batched_tokens < 1) {
    return InvalidArgument(
        StrCat("max_num_batched_tokens: must be positive, got ", options.max_num_batched_tokens));
  }
  if (options.max_num_seqs < 1) {
    return InvalidArgument(StrCat("max_num_seqs: must be positive, got ", options.max_num_seqs));
  }
  if (options.max_waiting < 1) {
    return InvalidArgument(StrCat("max_waiting: must be positive, got ", options.max_waiting));
  }
  if (options.long_prefill_token_threshold < 0) {
    return InvalidArgument(StrCat("long_prefill_token_threshold: must not be negative, got ",
                                  options.long_prefill_token_threshold));
  }
  if (options.max_num_partial_prefills < 1) {
    return InvalidArgument(StrCat("max_num_partial_prefills: must be positive, got ",
                                  options.max_num_partial_prefills));
  }
  if (options.max_long_partial_prefills < 1 ||
      options.max_long_partial_prefills > options.max_num_partial_prefills) {
    return InvalidArgument(StrCat("max_long_partial_prefills: must be between 1 and ",
                                  "max_num_partial_prefills, ", options.max_num_partial_prefills,
                                  ", got ", options.max_long_partial_prefills));
  }
  return Status();
}

// Without chunks each prompt goes whole into one step.
Status ValidateUnchunked(const SchedulerConfig& config) {
  const SchedulerOptions& options = config.options;
  if (options.enable_chunked_prefill) return Status();
  if (options.max_num_batched_tokens < config.max_model_len) {
    return InvalidArgument(StrCat("max_num_batched_tokens: must be at least max_model_len, ",
                                  config.max_model_len, ", without chunked prefill, got ",
                                  options.max_num_batched_tokens));
  }
  if (options.long_prefill_token_threshold > 0) {
    return InvalidArgument("long_prefill_token_threshold: needs chunked prefill");
  }
  return Status();
}

Status ValidatePool(const SchedulerConfig& config, const KvCacheManager& kv) {
  const std::int64_t num_needed = kv.MaxBlocksPerRequest(config.max_model_len);
  if (num_needed <= kv.pool().num_total()) return Status();
  return InvalidArgument(StrCat("num_blocks: one request of max_model_len, ", config.max_model_len,
                                " tokens, needs ", num_needed, " KV blocks, the cache has ",
                                kv.pool().num_total()));
}

KvCacheOptions KvOptions(const SchedulerConfig& config) {
  std::int64_t max_step_tokens =
      std::min(config.options.max_num_batched_tokens, config.max_model_len);
  const std::int64_t threshold = config.options.long_prefill_token_threshold;
  if (threshold > 0) max_step_tokens = std::min(max_step_tokens, threshold);
  return KvCacheOptions{.spec = config.kv_spec,
                        .num_blocks = config.num_blocks,
                        .block_size = config.block_size,
                        .max_step_tokens = max_step_tokens,
                        .enable_prefix_caching = config.enable_prefix_caching,
                        .hash_algo = config.prefix_hash_algo,
                        .events = config.kv_events};
}

}  // namespace

Result<std::unique_ptr<Scheduler>> Scheduler::Create(const SchedulerConfig& config) {
  QUIRE_RETURN_IF_ERROR(ValidateOptions(config.options));
  if (config.max_model_len < 2) {
    return InvalidArgument(
        StrCat("max_model_len: must hold a prompt and a token, got ", config.max_model_len));
  }
  QUIRE_RETURN_IF_ERROR(ValidateUnchunked(config));
  QUIRE_ASSIGN_OR_RETURN(auto kv, KvCacheManager::Create(KvOptions(config)));
  QUIRE_RETURN_IF_ERROR(ValidatePool(config, *kv));
  return std::unique_ptr<Scheduler>(new Scheduler(config, std::move(kv)));
}

Scheduler::Scheduler(const SchedulerConfig& config, std::unique_ptr<KvCacheManager> kv)
    : config_(config),
      kv_(std::move(kv)),
      waiting_(config.options.policy),
      builder_(kv_->num_groups()) {}

std::optional<WaitingBound> Scheduler::BoundMetBy(const EngineRequest& request) const {
  const SchedulerOptions& options = config_.options;
  if (waiting_.size() >= static_cast<std::size_t>(options.max_waiting)) {
    return WaitingBound::kRequests;
  }
  const bool is_further_answer = request.family.valid() && request.family != request.id;
  if (!options.max_waiting_tokens || waiting_.empty() || is_further_answer) return std::nullopt;
  const auto num_tokens = static_cast<std::int64_t>(request.prompt.size());
  if (waiting_.num_prompt_tokens() + num_tokens <= *options.max_waiting_tokens) {
    return std::nullopt;
  }
  return WaitingBound::kTokens;
}

Status Scheduler::CheckRoomToWait(const EngineRequest& request) const {
  const std::optional<WaitingBound> met = BoundMetBy(request);
  if (!met) return {};
  if (*met == WaitingBound::kRequests) {
    return ResourceExhausted(
        StrCat("max_waiting: ", waiting_.size(), " requests wait already; try again later"));
  }
  return ResourceExhausted(StrCat("max_waiting_tokens: prompts of ", waiting_.num_prompt_tokens(),
                                  " tokens wait already; try again later"));
}

Status Scheduler::Add(EngineRequest request) {
  thread_.Check();
  if (request.prompt.empty()) return InvalidArgument("prompt: is empty");
  if (request.prompt.size() >= static_cast<std::size_t>(config_.max_model_len)) {
    return InvalidArgument(StrCat("prompt: ", request.prompt.size(), " tokens leave no room in ",
                                  "max_model_len, ", config_.max_model_len));
  }
  if (request.max_tokens < 1) {
    return InvalidArgument(StrCat("max_tokens: must be positive, got ", request.max_tokens));
  }
  QUIRE_RETURN_IF_ERROR(CheckRoomToWait(request));
  if (request.grammar != nullptr && config_.constraint == nullptr) {
    return Status(Code::kUnimplemented, "structured_outputs: nothing here can constrain output");
  }
  auto state = std::make_unique<RequestState>();
  state->tokens = std::move(request.prompt);
  state->num_prompt_tokens = state->num_tokens();
  state->repetition = RepetitionDetector(request.sampling.repetition_detection, request.max_tokens);
  if (!request.cache_salt.empty()) {
    state->blocks.extra_keys.Add(ExtraKeys::Kind::kCacheSalt, request.cache_salt);
  }
  if (request.family.valid() && !config_.enable_prefix_caching) {
    state->blocks.is_in_family = true;
    state->blocks.extra_keys.Add(ExtraKeys::Kind::kFamily, StrCat(request.family.value()));
  }
  state->thinking = ThinkingBudget(request.thinking, request.reasoning);
  const RequestId id = request.id;
  state->request = std::move(request);
  const auto [it, is_new] = states_.try_emplace(id, std::move(state));
  if (!is_new) return InvalidArgument(StrCat("request id ", id.value(), " is in use"));
  if (it->second->is_constrained()) config_.constraint->Add(it->second->request);
  waiting_.PushNew(*it->second);
  return Status();
}

void Scheduler::Abort(RequestId id) {
  thread_.Check();
  const auto it = states_.find(id);
  if (it == states_.end() || it->second->is_aborted) return;
  RequestState& state = *it->second;
  AddPending(state).finish_reason = FinishReason::kAbort;
  state.is_aborted = true;
  // A worker may still be writing to its blocks: Update takes them.
  if (state.row_idx != kNoRow) return;
  if (state.status == RequestStatus::kRunning) {
    running_.erase(std::find(running_.begin(), running_.end(), &state));
    End(state);
  } else {
    Unconstrain(state);
    waiting_.Remove(state);
  }
  states_.erase(it);
}

void Scheduler::FailAll(const Status& error) {
  thread_.Check();
  for (std::size_t i = 0; i < scheduled_.size(); ++i) {
    kv_->Forget(builder_.plan().rows[i].num_computed_tokens, scheduled_[i]->blocks);
  }
  for (auto& [id, state] : states_) {
    if (!state->is_aborted) {
      EngineCoreOutput& output = AddPending(*state);
      output.finish_reason = FinishReason::kError;
      output.error = error;
    }
    if (state->status == RequestStatus::kRunning) {
      End(*state);
    } else {
      Unconstrain(*state);
      waiting_.Remove(*state);
    }
  }
  builder_.MarkFailed();
  running_.clear();
  scheduled_.clear();
  states_.clear();
}

EngineCoreOutput& Scheduler::AddPending(const RequestState& state) {
  EngineCoreOutput& output = pending_.emplace_back();
  output.id = state.request.id;
  output.num_cached_tokens = std::max(0, state.num_cached_tokens);
  return output;
}

std::vector<EngineCoreOutput> Scheduler::TakeOutputs() { return std::exchange(pending_, {}); }

bool Scheduler::ResetPrefixCache() {
  thread_.Check();
  return kv_->ResetPrefixCache();
}

void Scheduler::Pause(PauseMode mode) {
  thread_.Check();
  is_paused_ = true;
  if (mode == PauseMode::kPreempt) PreemptAll();
}

void Scheduler::PreemptAll() {
  thread_.Check();
  while (!running_.empty()) Preempt(running_.size() - 1);
}

SchedulerStats Scheduler::stats() const {
  SchedulerStats stats = counters_;
  stats.num_running = static_cast<std::int64_t>(running_.size());
  stats.num_waiting = static_cast<std::int64_t>(waiting_.size());
  stats.num_set_aside = std::min<std::int64_t>(num_set_aside_, stats.num_waiting);
  stats.num_used_blocks = kv_->pool().num_used();
  stats.num_total_blocks = kv_->pool().num_total();
  const auto num_groups = std::min<std::int32_t>(kv_->num_groups(), SchedulerStats::kMaxGroups);
  for (std::int32_t g = 0; g < num_groups; ++g) {
    stats.num_used_by_group[static_cast<std::size_t>(g)] = kv_->num_used(g);
  }
  return stats;
}

void Scheduler::Unconstrain(const RequestState& state) {
  if (state.is_constrained()) config_.constraint->Remove(state.request.id);
}

void Scheduler::End(RequestState& state) {
  Unconstrain(state);
  kv_->Free(state.blocks);
  SetPartial(false, state);
  builder_.AddFinished(state.request.id);
  state.status = RequestStatus::kFinished;
  state.row_idx = kNoRow;
}

void Scheduler::CheckInvariants() const {
  std::vector<const RequestBlocks*> holders;
  std::int32_t num_partial = 0;
  std::int32_t num_long_partial = 0;
  for (const RequestState* state : running_) {
    QUIRE_CHECK(state->status == RequestStatus::kRunning && state->row_idx == kNoRow);
    const std::int32_t num_lacking = state->num_tokens() - state->num_computed;
    QUIRE_CHECK(state->is_partial ? num_lacking > 0 : num_lacking == 1)
        << "request " << state->request.id.value() << " lacks " << num_lacking << " tokens";
    holders.push_back(&state->blocks);
    num_partial += state->is_partial ? 1 : 0;
    num_long_partial += state->is_partial && IsLong(*state) ? 1 : 0;
  }
  QUIRE_CHECK(num_partial == num_partial_ && num_long_partial == num_long_partial_);
  QUIRE_CHECK(running_.size() <= static_cast<std::size_t>(config_.options.max_num_seqs));
  QUIRE_CHECK(running_.size() + waiting_.size() == states_.size());
  QUIRE_CHECK(config_.options.policy == SchedulingPolicy::kFcfs ||
              std::is_sorted(running_.begin(), running_.end(),
                             [](const auto* a, const auto* b) { return a->rank < b->rank; }));
  kv_->CheckInvariants(holders);
}

}  // namespace quire
