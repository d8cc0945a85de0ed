#include "engine/output.h"

#include <utility>

#include "base/strings.h"

namespace quire {

OutputProcessor::OutputProcessor(std::shared_ptr<const Tokenizer> tokenizer)
    : tokenizer_(std::move(tokenizer)) {}
OutputProcessor::~OutputProcessor() = default;

Status OutputProcessor::Add(std::string request_id, std::span<const EngineRequest> requests) {
  if (prompts_.contains(request_id)) {
    return InvalidArgument(
        StrCat("request_id: \"", Printable(request_id), "\" belongs to a request that still runs"));
  }
  auto prompt = std::make_unique<Prompt>();
  prompt->request_id = request_id;
  prompt->kind = requests[0].sampling.output_kind;
  prompt->prompt_token_ids = requests[0].prompt;
  prompt->completions.reserve(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    QUIRE_ASSIGN_OR_RETURN(Completion completion,
                           Completion::Create(tokenizer_.get(), requests[i], static_cast<int>(i)));
    prompt->completions.push_back(std::move(completion));
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    by_request_[requests[i].id] = {.prompt = prompt.get(), .index = i};
  }
  prompts_.emplace(std::move(request_id), std::move(prompt));
  return {};
}

void OutputProcessor::Process(std::span<const EngineCoreOutput> outputs,
                              std::vector<RequestOutput>& out, std::vector<RequestId>& ended) {
  with_news_.clear();
  for (const EngineCoreOutput& output : outputs) TakeIn(output, ended);
  for (Prompt* prompt : with_news_) Report(*prompt, out);
}

void OutputProcessor::TakeIn(const EngineCoreOutput& output, std::vector<RequestId>& ended) {
  const auto found = by_request_.find(output.id);
  if (found == by_request_.end()) return;  // ended here before the engine heard of it
  Prompt& prompt = *found->second.prompt;
  Completion& completion = prompt.completions[found->second.index];
  if (!output.new_prompt_logprobs.empty()) prompt.prompt_logprobs = output.new_prompt_logprobs;
  prompt.num_cached_tokens = std::max(prompt.num_cached_tokens, output.num_cached_tokens);
  if (prompt.error.ok()) prompt.error = output.error;
  if (completion.Append(output)) ended.push_back(output.id);
  if (completion.is_finished()) {
    ++prompt.num_finished;
    by_request_.erase(found);
  }
  if (completion.has_news() && !prompt.has_news) {
    prompt.has_news = true;
    with_news_.push_back(&prompt);
  }
}

void OutputProcessor::Report(Prompt& prompt, std::vector<RequestOutput>& out) {
  prompt.has_news = false;
  const bool is_finished = prompt.num_finished == prompt.completions.size();
  if (is_finished || prompt.kind != OutputKind::kFinalOnly) out.push_back(MakeOutput(prompt));
  if (is_finished) Erase(prompt);
}

RequestOutput OutputProcessor::MakeOutput(Prompt& prompt) {
  RequestOutput output;
  output.request_id = prompt.request_id;
  output.is_finished = prompt.num_finished == prompt.completions.size();
  output.error = prompt.error;
  output.num_cached_tokens = prompt.num_cached_tokens;
  const bool is_delta = prompt.kind == OutputKind::kDelta;
  if (!is_delta || !prompt.has_told_prompt) {
    output.prompt_token_ids = prompt.prompt_token_ids;
    output.prompt_logprobs = prompt.prompt_logprobs;
    prompt.has_told_prompt = true;
  }
  for (Completion& completion : prompt.completions) {
    if (!is_delta) {
      output.outputs.push_back(completion.so_far());
    } else if (completion.has_news()) {
      output.outputs.push_back(completion.TakeDelta());
    }
  }
  return output;
}

void OutputProcessor::Erase(Prompt& prompt) {
  for (const Completion& completion : prompt.completions) {
    by_request_.erase(completion.request_id());
  }
  prompts_.erase(std::string(prompt.request_id));
}

std::vector<RequestId> OutputProcessor::LiveRequests(const std::string& request_id) const {
  std::vector<RequestId> live;
  const auto found = prompts_.find(request_id);
  if (found == prompts_.end()) return live;
  for (const Completion& completion : found->second->completions) {
    if (!completion.is_finished()) live.push_back(completion.request_id());
  }
  return live;
}

void OutputProcessor::Remove(const std::string& request_id) {
  const auto found = prompts_.find(request_id);
  if (found != prompts_.end()) Erase(*found->second);
}

void OutputProcessor::FailAll(const Status& error, std::vector<RequestOutput>& out) {
  for (auto& [request_id, prompt] : prompts_) {
    RequestOutput output;
    output.request_id = request_id;
    output.is_finished = true;
    output.error = error;
    output.prompt_token_ids = prompt->prompt_token_ids;
    for (Completion& completion : prompt->completions) {
      CompletionOutput last =
          prompt->kind == OutputKind::kDelta ? completion.TakeDelta() : completion.so_far();
      if (!last.finish_reason) last.finish_reason = FinishReason::kError;
      output.outputs.push_back(std::move(last));
    }
    out.push_back(std::move(output));
  }
  prompts_.clear();
  by_request_.clear();
}

}  // namespace quire
