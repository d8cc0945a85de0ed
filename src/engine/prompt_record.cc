#include "engine/prompt_record.h"

#include <algorithm>
#include <utility>

namespace quire {

Result<std::unique_ptr<PromptRecord>> PromptRecord::Create(
    const Tokenizer* tokenizer, std::string request_id, std::span<const EngineRequest> requests) {
  std::unique_ptr<PromptRecord> record(new PromptRecord);
  record->request_id_ = std::move(request_id);
  record->kind_ = requests[0].sampling.output_kind;
  record->prompt_token_ids_ = requests[0].prompt;
  record->times_.arrival = requests[0].arrival;
  record->was_scheduled_.resize(requests.size());
  record->completions_.reserve(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    QUIRE_ASSIGN_OR_RETURN(Completion completion,
                           Completion::Create(tokenizer, requests[i], static_cast<int>(i)));
    record->completions_.push_back(std::move(completion));
  }
  return record;
}

void PromptRecord::NoteScheduled(std::size_t index, std::chrono::steady_clock::time_point now) {
  if (was_scheduled_[index]) ++times_.num_preemptions;
  was_scheduled_[index] = true;
  if (!times_.scheduled) times_.scheduled = now;
}

bool PromptRecord::Append(std::size_t index, const EngineCoreOutput& output,
                          std::chrono::steady_clock::time_point now) {
  Completion& completion = completions_[index];
  if (!output.new_prompt_logprobs.empty()) prompt_logprobs_ = output.new_prompt_logprobs;
  num_cached_tokens_ = std::max(num_cached_tokens_, output.num_cached_tokens);
  if (error_.ok()) error_ = output.error;
  if (!output.new_tokens.empty()) {
    if (!times_.first_token) times_.first_token = now;
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
  output.num_cached_tokens = num_cached_tokens_;
  output.times = times_;
  if (kind_ != OutputKind::kDelta || !has_told_prompt_) {
    output.prompt_token_ids = prompt_token_ids_;
    output.prompt_logprobs = prompt_logprobs_;
    has_told_prompt_ = true;
  }
  return output;
}

RequestOutput PromptRecord::MakeOutput() {
  has_news_ = false;
  RequestOutput output = Describe();
  output.is_finished = is_finished();
  output.error = error_;
  for (Completion& completion : completions_) {
    if (kind_ != OutputKind::kDelta) {
      output.outputs.push_back(completion.so_far());
    } else if (completion.has_news()) {
      output.outputs.push_back(completion.TakeDelta());
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
