// How the scheduler fills one plan.
#include <algorithm>

#include "base/log.h"
#include "sched/scheduler.h"

namespace quire {
namespace {

// Waiting requests passed over in one step at most, so that a long queue of long prompts does not
// cost a long search each step.
constexpr std::int32_t kMaxSetAside = 64;

}  // namespace

const StepPlan& Scheduler::Schedule() {
  thread_.Check();
  QUIRE_CHECK(scheduled_.empty()) << "the last plan's result was not given to Update";
  builder_.Begin();
  prefills_.clear();
  if (!is_paused_) FillPlan();
  const StepPlan& plan = builder_.Finish();
  if (config_.constraint != nullptr) config_.constraint->PlaceMasks(builder_.finished_plan());
  return plan;
}

void Scheduler::FillPlan() {
  budget_ = config_.options.max_num_batched_tokens;
  running_idx_ = 0;
  candidate_ = waiting_.begin();
  num_set_aside_ = 0;
  is_admission_over_ = has_preempted_ = false;
  while (budget_ > 0) {
    if (AdmitNext()) continue;
    if (running_idx_ >= running_.size()) break;
    ServeRunning(*running_[running_idx_]);
  }
}

// Gives a running request its part of the budget, preempting from the end of the list for blocks;
// when it comes to itself it is gone from the list.
void Scheduler::ServeRunning(RequestState& state) {
  const std::int32_t num_wanted = state.num_tokens() + state.num_drafts() - state.num_computed;
  const std::int32_t num_new = BoundedGrant(num_wanted);
  ScheduledRow& row = builder_.AddRow(state.request.id);
  while (
      !kv_->Grow(state.num_computed, state.num_computed + num_new, state.blocks, row.new_blocks)) {
    const bool is_itself = running_.back() == &state;
    Preempt(running_.size() - 1);
    if (!is_itself) continue;
    builder_.DropLastRow();
    return;
  }
  FillRow(num_new, state, row);
  ++running_idx_;
}

// Admits the next waiting request that can be, if it is a waiting one's turn.
bool Scheduler::AdmitNext() {
  while (RequestState* state = NextCandidate()) {
    switch (TryAdmit(*state)) {
      case Admission::kAdmitted:
        candidate_ = waiting_.Remove(candidate_);
        InsertRunning(*state);
        return true;
      case Admission::kSetAside:
        ++candidate_;
        ++num_set_aside_;
        break;
      case Admission::kBlocked:
        is_admission_over_ = true;
        break;
    }
  }
  return false;
}

// Null when it is a running request's turn or no more are to be admitted. Waiting requests come
// after all running ones, but before running ones of a lower priority; and only those in a step
// that preempts, because blocks are short.
RequestState* Scheduler::NextCandidate() const {
  if (is_admission_over_ || num_set_aside_ >= kMaxSetAside) return nullptr;
  if (candidate_ == waiting_.end()) return nullptr;
  RequestState* state = *candidate_;
  if (running_idx_ < running_.size()) {
    const bool is_urgent = state->rank.priority < running_[running_idx_]->rank.priority;
    return is_urgent ? state : nullptr;
  }
  return has_preempted_ ? nullptr : state;
}

Scheduler::Admission Scheduler::TryAdmit(RequestState& state) {
  while (running_.size() >= static_cast<std::size_t>(config_.options.max_num_seqs)) {
    if (!PreemptWorse(state)) return Admission::kBlocked;
  }
  // A prompt whose logprobs are wanted is computed in full: the cache has no logits.
  const bool may_hit = !state.wants_prompt_logprobs();
  const std::int32_t num_cached =
      may_hit ? kv_->FindPrefix(state.tokens, state.num_tokens() - 1, state.blocks) : 0;
  const std::int32_t num_wanted = state.num_tokens() - num_cached;
  const std::int32_t num_new = BoundedGrant(num_wanted);
  if (num_new < num_wanted) {
    if (!config_.options.enable_chunked_prefill) return Admission::kBlocked;
    if (!MakePartialSlot(state)) return Admission::kSetAside;
  }
  if (!MakeBlocks(num_cached, num_new, state)) return Admission::kBlocked;
  if (state.num_cached_tokens < 0) {
    state.num_cached_tokens = num_cached;
    if (may_hit && config_.enable_prefix_caching) {
      counters_.prefix_queries += state.num_tokens();
      counters_.prefix_hits += num_cached;
    }
  }
  state.num_computed = num_cached;
  AddNewRequestData(state);
  FillRow(num_new, state, builder_.AddRow(state.request.id));
  return Admission::kAdmitted;
}

// Whether one more prompt may be in the middle of its prefill; if not, one of a lower priority
// makes way.
bool Scheduler::MakePartialSlot(const RequestState& state) {
  const SchedulerOptions& options = config_.options;
  const bool is_long_full = IsLong(state) && num_long_partial_ >= options.max_long_partial_prefills;
  if (!is_long_full && num_partial_ < options.max_num_partial_prefills) return true;
  for (std::size_t idx = running_.size(); idx-- > running_idx_;) {
    const RequestState& other = *running_[idx];
    if (other.rank.priority <= state.rank.priority) return false;
    if (!other.is_partial || (is_long_full && !IsLong(other))) continue;
    Preempt(idx);
    return true;
  }
  return false;
}

bool Scheduler::MakeBlocks(std::int32_t num_cached, std::int32_t num_new, RequestState& state) {
  const std::int64_t max_tokens = std::min<std::int64_t>(
      std::int64_t{state.num_prompt_tokens} + state.request.max_tokens, config_.max_model_len);
  const KvCacheManager::Admission admission = {.num_cached = num_cached,
                                               .num_tokens = num_cached + num_new,
                                               .num_prompt_tokens = state.num_tokens(),
                                               .max_tokens = static_cast<std::int32_t>(max_tokens)};
  while (!kv_->Admit(admission, state.blocks)) {
    // Nobody is preempted in vain.
    if (kv_->NumLacking(admission) > NumHeldByWorse(state)) return false;
    if (!PreemptWorse(state)) return false;
  }
  state.tokens.reserve(static_cast<std::size_t>(max_tokens));
  return true;
}

void Scheduler::InsertRunning(RequestState& state) {
  state.status = RequestStatus::kRunning;
  auto at = running_.end();
  if (config_.options.policy == SchedulingPolicy::kPriority) {
    at = std::upper_bound(running_.begin(), running_.end(), &state,
                          [](const auto* a, const auto* b) { return a->rank < b->rank; });
  }
  running_.insert(at, &state);
  ++running_idx_;
}

void Scheduler::AddNewRequestData(const RequestState& state) {
  NewRequestData& data = builder_.AddNewRequest();
  data.id = state.request.id;
  data.tokens = state.tokens;
  data.num_prompt_tokens = state.num_prompt_tokens;
  data.sampling = state.request.sampling;
  data.eos_token_ids = state.request.eos_token_ids;
  data.seed = state.request.seed;
  data.blocks.reserve(state.blocks.tables.size());
  for (const BlockTable& table : state.blocks.tables) data.blocks.push_back(table.ids);
}

// Books `num_new` tokens, for which there are blocks, to the request and writes its row.
void Scheduler::FillRow(std::int32_t num_new, RequestState& state, ScheduledRow& row) {
  if (state.num_generated() == 0 || state.num_computed + 1 < state.num_tokens()) {
    prefills_.push_back({.id = state.request.id, .num_tokens = num_new});
  }
  row.num_computed_tokens = state.num_computed;
  row.num_new_tokens = num_new;
  state.num_computed += num_new;
  const std::int32_t num_known = std::min(state.num_computed, state.num_tokens());
  row.samples = num_known == state.num_tokens();
  if (row.samples) row.forced_token = state.thinking.ForcedToken();
  const auto num_drafts = static_cast<std::ptrdiff_t>(state.num_computed - num_known);
  row.draft_tokens.assign(state.drafts.begin(), state.drafts.begin() + num_drafts);
  SetPartial(!row.samples, state);
  kv_->Share(state.tokens, num_known, state.blocks);
  budget_ -= num_new;
  state.row_idx = static_cast<std::int32_t>(scheduled_.size());
  scheduled_.push_back(&state);
}

std::int32_t Scheduler::BoundedGrant(std::int32_t num_wanted) const {
  const std::int32_t threshold = config_.options.long_prefill_token_threshold;
  const std::int32_t num_bounded = std::min(num_wanted, budget_);
  return threshold > 0 ? std::min(num_bounded, threshold) : num_bounded;
}

// At most so many blocks would come free if all that PreemptWorse may take were gone.
std::int64_t Scheduler::NumHeldByWorse(const RequestState& than) const {
  std::int64_t num_held = 0;
  for (std::size_t idx = running_.size(); idx-- > running_idx_;) {
    if (running_[idx]->rank.priority <= than.rank.priority) break;
    num_held += NumHeld(running_[idx]->blocks);
  }
  return num_held;
}

// Preempts the last running request if it has a lower priority and no row yet.
bool Scheduler::PreemptWorse(const RequestState& than) {
  if (running_.size() <= running_idx_) return false;
  if (running_.back()->rank.priority <= than.rank.priority) return false;
  Preempt(running_.size() - 1);
  return true;
}

void Scheduler::Preempt(std::size_t running_idx) {
  RequestState& state = *running_[running_idx];
  QUIRE_CHECK(state.row_idx == kNoRow) << "a request with a row cannot be preempted";
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(running_idx));
  kv_->Free(state.blocks);
  SetPartial(false, state);
  state.num_computed = 0;
  state.drafts.clear();
  state.status = RequestStatus::kPreempted;
  builder_.AddFinished(state.request.id);
  waiting_.PushPreempted(state);
  ++counters_.num_preemptions;
  has_preempted_ = true;
}

bool Scheduler::IsLong(const RequestState& state) const {
  const std::int32_t threshold = config_.options.long_prefill_token_threshold;
  return threshold > 0 && state.num_prompt_tokens > threshold;
}

void Scheduler::SetPartial(bool is_partial, RequestState& state) {
  if (is_partial == state.is_partial) return;
  state.is_partial = is_partial;
  const std::int32_t change = is_partial ? 1 : -1;
  num_partial_ += change;
  if (IsLong(state)) num_long_partial_ += change;
}

}  // namespace quire
