// How the scheduler takes in one result.
#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "sched/scheduler.h"

namespace quire {
namespace {

// Adds the logprobs of a chunk that starts after `num_computed` tokens. A request preempted in its
// prefill computes its first chunks again; what is there already stays.
void CollectPromptLogprobs(const RowResult& result, std::int32_t num_computed,
                           RequestState& state) {
  std::vector<PositionLogprobs>& collected = state.prompt_logprobs;
  if (collected.empty()) collected.emplace_back();
  auto position = static_cast<std::size_t>(num_computed) + 1;
  const auto end = static_cast<std::size_t>(state.num_prompt_tokens);
  for (const PositionLogprobs& entry : result.prompt_logprobs) {
    if (position == collected.size() && position < end) collected.push_back(entry);
    ++position;
  }
}

}  // namespace

std::span<const EngineCoreOutput> Scheduler::Update(const StepResult& result) {
  thread_.Check();
  num_outputs_ = 0;
  for (EngineCoreOutput& output : pending_) {
    if (num_outputs_ == outputs_.size()) outputs_.emplace_back();
    outputs_[num_outputs_++] = std::move(output);
  }
  pending_.clear();
  const StepPlan& plan = builder_.plan();
  const bool is_ours = result.step_id == plan.step_id;
  for (std::size_t i = 0; i < scheduled_.size(); ++i) {
    const ScheduledRow& row = plan.rows[i];
    const bool has_result = is_ours && i < result.rows.size() && result.rows[i].id == row.id;
    UpdateRow(row, has_result ? &result.rows[i] : nullptr, *scheduled_[i]);
  }
  scheduled_.clear();
  ForgetEnded();
  return std::span(outputs_).first(num_outputs_);
}

void Scheduler::UpdateRow(const ScheduledRow& row, const RowResult* result, RequestState& state) {
  state.row_idx = kNoRow;
  if (result == nullptr) {
    return FailRow(row, Internal("the worker gave no result for this request"), state);
  }
  if (!result->error.ok()) return FailRow(row, CauseOf(result->error, state), state);
  if (state.is_aborted) {
    End(state);
    ended_.push_back(state.request.id);
    return;
  }
  if (state.wants_prompt_logprobs()) {
    CollectPromptLogprobs(*result, row.num_computed_tokens, state);
  }
  if (!row.samples) return;
  const std::size_t max_sampled = row.draft_tokens.size() + 1;
  if (result->tokens.empty() || result->tokens.size() > max_sampled) {
    return FailRow(row,
                   Internal(StrCat("the worker gave ", result->tokens.size(),
                                   " tokens, between 1 and ", max_sampled, " were due")),
                   state);
  }
  TakeTokens(row, *result, state);
}

void Scheduler::TakeTokens(const ScheduledRow& row, const RowResult& result, RequestState& state) {
  // The K and V of rejected drafts are there but belong to no token.
  state.num_computed -=
      static_cast<std::int32_t>(row.draft_tokens.size() + 1 - result.tokens.size());
  EngineCoreOutput& output = AddOutput(state);
  std::optional<Stop> stop;
  for (const TokenId token : result.tokens) {
    state.tokens.push_back(token);
    output.new_tokens.push_back(token);
    state.thinking.Hear(token);
    stop = CheckStop(state, config_.max_model_len);
    if (state.is_constrained()) CheckConstraint(state, stop);
    if (stop) break;
  }
  const std::size_t num_logprobs = std::min(result.logprobs.size(), output.new_tokens.size());
  output.new_logprobs.assign(result.logprobs.begin(),
                             result.logprobs.begin() + static_cast<std::ptrdiff_t>(num_logprobs));
  if (state.wants_prompt_logprobs()) {
    state.prompt_logprobs.resize(static_cast<std::size_t>(state.num_prompt_tokens));
    output.new_prompt_logprobs = std::exchange(state.prompt_logprobs, {});
    state.has_given_prompt_logprobs = true;
  }
  if (!stop) return KeepDrafts(result, state);
  output.finish_reason = stop->reason;
  if (stop->reason == FinishReason::kError) {
    output.error =
        CauseOf(Internal("structured_outputs: the worker gave a token that is not allowed"), state);
  }
  output.stop_reason = std::move(stop->stop_reason);
  End(state);
  ended_.push_back(state.request.id);
}

// Tells the constraint of the last token, which may end the answer.
void Scheduler::CheckConstraint(const RequestState& state, std::optional<Stop>& stop) const {
  using Verdict = TokenConstraint::Verdict;
  if (stop && stop->reason == FinishReason::kStop) return;
  const bool may_end = state.num_generated() >= state.request.sampling.min_tokens;
  const Verdict verdict =
      config_.constraint->Accept(state.request.id, state.tokens.back(), may_end);
  if (verdict == Verdict::kEnds) stop = Stop{FinishReason::kStop, {}};
  if (verdict == Verdict::kRefused) stop = Stop{FinishReason::kError, {}};
}

// `error`, or what brought the constraint to it.
Status Scheduler::CauseOf(const Status& error, const RequestState& state) const {
  const Status failure =
      state.is_constrained() ? config_.constraint->FailureOf(state.request.id) : Status();
  return failure.ok() ? error : failure;
}

// A step gives one token more than its drafts, so as many are kept as can still be used, and as
// none but the last of its tokens can use up the budget of the reasoning: what is forced has a step
// of its own.
void Scheduler::KeepDrafts(const RowResult& result, RequestState& state) {
  state.drafts.clear();
  const std::int32_t num_left =
      std::min({state.request.max_tokens - state.num_generated(),
                config_.max_model_len - state.num_tokens(), state.thinking.num_free()});
  if (num_left <= 1) return;
  const auto num_kept = std::min<std::ptrdiff_t>(
      num_left - 1, static_cast<std::ptrdiff_t>(result.draft_tokens.size()));
  state.drafts.assign(result.draft_tokens.begin(), result.draft_tokens.begin() + num_kept);
  if (!state.is_constrained() || !state.drafts.empty()) return;
  config_.constraint->Foresee(state.request.id, std::min(num_left - 1, kMaxForeseen), state.drafts);
}

// Ends a request whose row went wrong; nobody is to find what the row wrote.
void Scheduler::FailRow(const ScheduledRow& row, const Status& error, RequestState& state) {
  if (!state.is_aborted) {
    EngineCoreOutput& output = AddOutput(state);
    output.finish_reason = FinishReason::kError;
    output.error = error;
  }
  kv_->Forget(row.num_computed_tokens, state.blocks);
  End(state);
  ended_.push_back(state.request.id);
}

EngineCoreOutput& Scheduler::AddOutput(const RequestState& state) {
  if (num_outputs_ == outputs_.size()) outputs_.emplace_back();
  EngineCoreOutput& output = outputs_[num_outputs_++];
  output.id = state.request.id;
  output.new_tokens.clear();
  output.new_logprobs.clear();
  output.new_prompt_logprobs.clear();
  output.finish_reason.reset();
  output.stop_reason = std::monostate();
  output.error = Status();
  output.num_cached_tokens = std::max(0, state.num_cached_tokens);
  return output;
}

void Scheduler::ForgetEnded() {
  if (ended_.empty()) return;
  std::erase_if(running_, [](const RequestState* state) {
    return state->status == RequestStatus::kFinished;
  });
  for (const RequestId id : ended_) states_.erase(id);
  ended_.clear();
}

}  // namespace quire
