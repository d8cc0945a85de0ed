#include "engine/prompt_record.h"

#include <algorithm>
#include <utility>

namespace quire {

using Clock = std::chrono::steady_clock;

RequestOutput LastOutput(std::string request_id, Status error) {
  RequestOutput output;
  output.request_id = std::move(request_id);
  output.is_finished = true;
  output.error = std::move(error);
  return output;
}

Result<std::unique_ptr<PromptRecord>> PromptRecord::Create(const Tokenizer* tokenizer,
                                                           std::string request_id,
                                                           std::span<const EngineRequest> requests,
                                                           int stream_interval) {
  std::unique_ptr<PromptRecord> record(new PromptRecord);
  record->request_id_ = std::move(request_id);
  record->kind_ = requests[0].sampling.output_kind;
  record->stream_interval_ = stream_interval;
  record->prompt_token_ids_ = requests[0].prompt;
  record->warning_ = requests[0].warning;
  record->times_.arrival = requests[0].arrival;
  record->trace_.request_id = record->request_id_;
  record->stats_.resize(requests.size());
  record->completions_.reserve(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    QUIRE_ASSIGN_OR_RETURN(Completion completion,
                           Completion::Create(tokenizer, requests[i], static_cast<int>(i)));
    record->completions_.push_back(std::move(completion));
    AnswerStats& stats = record->stats_[i];
    stats.times.arrival = requests[i].arrival;
    stats.num_prompt_tokens = static_cast<int>(requests[i].prompt.size());
    stats.max_tokens = requests[i].max_tokens;
    stats.priority = requests[i].priority;
  }
  return record;
}

void PromptRecord::NoteTokenized(Clock::time_point begin, Clock::time_point end) {
  trace_.Add({.kind = SpanKind::kTokenize,
              .begin = begin,
              .end = end,
              .num_tokens = static_cast<std::int64_t>(prompt_token_ids_.size())});
}

void PromptRecord::NoteQueued(Clock::time_point now) {
  times_.queued = now;
  for (AnswerStats& stats : stats_) stats.times.queued = now;
}

void PromptRecord::NoteScheduled(std::size_t index, Clock::time_point now) {
  RequestTimes& times = stats_[index].times;
  if (times.scheduled) {
    ++times.num_preemptions;
    ++times_.num_preemptions;
    return;
  }
  times.scheduled = now;
  if (times_.scheduled) return;
  times_.scheduled = now;
  if (times_.queued) trace_.Add({.kind = SpanKind::kQueue, .begin = *times_.queued, .end = now});
}

int PromptRecord::num_generated() const {
  int longest = 0;
  for (const AnswerStats& stats : stats_) longest = std::max(longest, stats.num_generated_tokens);
  return longest;
}

RequestTrace PromptRecord::TakeTrace() {
  std::int64_t num_tokens = 0;
  for (const AnswerStats& stats : stats_) num_tokens += stats.num_generated_tokens;
  if (times_.first_token && times_.last_token) {
    trace_.Add({.kind = SpanKind::kDecode,
                .begin = *times_.first_token,
                .end = *times_.last_token,
                .num_tokens = num_tokens});
    trace_.Add({.kind = SpanKind::kStream,
                .begin = *times_.first_token,
                .end = *times_.last_token,
                .num_tokens = num_tokens});
  }
  const auto reason = completions_[0].so_far().finish_reason;
  trace_.outcome = ToString(reason.value_or(FinishReason::kError));
  return std::move(trace_);
}

bool PromptRecord::Append(std::size_t index, const EngineCoreOutput& output,
                          std::chrono::steady_clock::time_point now) {
  Completion& completion = completions_[index];
  if (!output.new_prompt_logprobs.empty()) prompt_logprobs_ = output.new_prompt_logprobs;
  num_cached_tokens_ = std::max(num_cached_tokens_, output.num_cached_tokens);
  if (error_.ok()) error_ = output.error;
  AnswerStats& stats = stats_[index];
  stats.num_cached_tokens = std::max(stats.num_cached_tokens, output.num_cached_tokens);
  if (!output.new_tokens.empty()) {
    for (RequestTimes* times : {&times_, &stats.times}) {
      if (!times->first_token) times->first_token = now;
    }
    stats.num_generated_tokens += static_cast<int>(output.new_tokens.size());
    stats.previous_token = std::exchange(stats.times.last_token, now);
    times_.last_token = now;
  }
  const bool is_ended_here = completion.Append(output);
  if (completion.is_finished()) ++num_finished_;
  has_news_ |= completion.has_news();
  return is_ended_here;
}

RequestOutput PromptRecord::Describe() {
  RequestOutput output;
  output.request_id = request_id_;
  output.warning = warning_;
  output.num_cached_tokens = num_cached_tokens_;
  output.times = times_;
  if (kind_ != OutputKind::kDelta || !has_told_prompt_) {
    output.prompt_token_ids = prompt_token_ids_;
    output.prompt_logprobs = prompt_logprobs_;
    has_told_prompt_ = true;
  }
  return output;
}

bool PromptRecord::has_report() const {
  if (!has_news_) return false;
  if (is_finished()) return true;
  if (kind_ == OutputKind::kFinalOnly) return false;
  if (kind_ != OutputKind::kDelta || stream_interval_ == 1) return true;
  return std::ranges::any_of(completions_, [this](const Completion& completion) {
    return completion.has_delta(stream_interval_);
  });
}

RequestOutput PromptRecord::MakeOutput() {
  has_news_ = false;
  RequestOutput output = Describe();
  output.is_finished = is_finished();
  output.error = error_;
  for (Completion& completion : completions_) {
    if (kind_ != OutputKind::kDelta) {
      output.outputs.push_back(completion.so_far());
    } else if (completion.has_delta(stream_interval_)) {
      output.outputs.push_back(completion.TakeDelta());
    } else {
      has_news_ |= completion.has_news();
    }
  }
  return output;
}

RequestOutput PromptRecord::Fail(const Status& error) {
  RequestOutput output = Describe();
  output.is_finished = true;
  output.error = error;
  for (Completion& completion : completions_) {
    CompletionOutput last =
        kind_ == OutputKind::kDelta ? completion.TakeDelta() : completion.so_far();
    if (!last.finish_reason) {
      last.finish_reason = error.ok() ? FinishReason::kAbort : FinishReason::kError;
    }
    output.outputs.push_back(std::move(last));
  }
  return output;
}

}  // namespace quire
