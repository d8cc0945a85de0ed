#include "server/completion_listeners.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "server/api_error.h"
#include "server/json_text.h"
#include "server/sse.h"

namespace quire {
namespace {

std::string EchoedText(const CompletionJob& job, std::size_t prompt_idx,
                       const RequestOutput& output) {
  if (!job.prompt_texts[prompt_idx].empty()) return job.prompt_texts[prompt_idx];
  return job.tokenizer == nullptr ? "" : job.tokenizer->Decode(output.prompt_token_ids);
}

// The prompt's tokens; the first one's name loses a blank that the text does not begin with.
void AddPrompt(CompletionLogprobs& logprobs, const CompletionJob& job, const RequestOutput& output,
               std::string_view text) {
  if (output.prompt_token_ids.empty()) return;
  std::string first = job.names.NameOf(output.prompt_token_ids[0]);
  if (!text.starts_with(first) && first.starts_with(' ') &&
      text.starts_with(std::string_view(first).substr(1))) {
    first.erase(0, 1);
  }
  logprobs.Add(output.prompt_token_ids, output.prompt_logprobs, &first);
}

// Takes away the one token that the engine made where none was asked for.
void Hide(CompletionOutput& answer) {
  answer.text.clear();
  answer.token_ids.clear();
  answer.logprobs.clear();
}

// Ends a choice: ,"finish_reason":…,"stop_reason":…
void AppendEnd(std::string& out, const CompletionJob& job, const CompletionOutput& answer) {
  out += R"(,"finish_reason":)";
  if (job.is_echo_only && answer.finish_reason) {
    out += R"("length","stop_reason":null)";
    return;
  }
  AppendFinishReason(out, answer.finish_reason);
  out += R"(,"stop_reason":)";
  AppendStopReason(out, answer.finish_reason ? answer.stop_reason : StopReason());
}

// One answer with everything in it.
class GatheredCompletion : public PromptListener {
 public:
  GatheredCompletion(ApiCall call, CompletionJob job, std::size_t num_prompts)
      : call_(std::move(call)), job_(std::move(job)), outputs_(num_prompts) {}

  bool Hear(std::size_t index, RequestOutput output) override {
    if (output.is_finished) outputs_[index] = std::move(output);
    return true;
  }

  void Finish() override {
    std::string out;
    AppendHead(out, job_.head, "text_completion");
    out += R"(,"choices":[)";
    Usage usage{.prompt_tokens = job_.num_prompt_tokens};
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      usage.prompt_tokens += static_cast<std::int64_t>(outputs_[i].prompt_token_ids.size());
      usage.cached_tokens += outputs_[i].num_cached_tokens;
      AppendPrompt(out, i, usage);
    }
    out += R"(],"service_tier":null,"system_fingerprint":)";
    AppendJsonString(out, job_.fingerprint);
    out += ',';
    AppendWholeUsage(out, usage, job_.has_details);
    out += R"(,"kv_transfer_params":null,"ec_transfer_params":null,"metrics":null})";
    SendJson(call_, std::move(out));
  }

  void Fail(const Status& error) override {
    call_.reply->Send(ErrorResponse(job_.field_names.Translate(error)));
  }

 private:
  void AppendPrompt(std::string& out, std::size_t prompt_idx, Usage& usage) {
    RequestOutput& output = outputs_[prompt_idx];
    for (const CompletionOutput& answer : output.outputs) {
      if (!job_.is_echo_only) {
        usage.completion_tokens += static_cast<std::int64_t>(answer.token_ids.size());
      }
    }
    KeepBest(output.outputs);
    for (std::size_t i = 0; i < output.outputs.size(); ++i) {
      if (out.back() == '}') out += ',';
      AppendChoice(out, prompt_idx, i, output);
    }
  }

  // The most probable answers by their mean, where more were made than asked for.
  void KeepBest(std::vector<CompletionOutput>& answers) const {
    if (answers.size() <= job_.num_choices) return;
    const auto mean = [](const CompletionOutput& answer) {
      const auto count = std::max<std::size_t>(1, answer.token_ids.size());
      return answer.cumulative_logprob / static_cast<double>(count);
    };
    std::ranges::stable_sort(answers, std::ranges::greater(), mean);
    answers.resize(job_.num_choices);
  }

  void AppendChoice(std::string& out, std::size_t prompt_idx, std::size_t choice_idx,
                    const RequestOutput& output) {
    CompletionOutput answer = output.outputs[choice_idx];
    if (job_.is_echo_only) Hide(answer);
    const std::string echoed = job_.echo ? EchoedText(job_, prompt_idx, output) : "";
    out += R"({"index":)";
    AppendInt(out, num_told_++);
    out += R"(,"text":)";
    AppendJsonString(out, echoed + answer.text);
    out += R"(,"logprobs":)";
    if (job_.has_logprobs) {
      CompletionLogprobs logprobs(job_.names);
      if (job_.echo) AddPrompt(logprobs, job_, output, echoed);
      logprobs.Add(answer.token_ids, answer.logprobs);
      logprobs.AppendTo(out);
    } else {
      out += "null";
    }
    AppendEnd(out, job_, answer);
    out += R"(,"token_ids":)";
    AppendIdsOrNull(out, answer.token_ids);
    out += R"(,"prompt_logprobs":)";
    if (output.prompt_logprobs.empty()) {
      out += "null";
    } else {
      AppendPromptLogprobs(out, output.prompt_logprobs, job_.names);
    }
    out += R"(,"prompt_token_ids":)";
    AppendIdsOrNull(out, output.prompt_token_ids);
    out += R"(,"routed_experts":null})";
  }

  void AppendIdsOrNull(std::string& out, const std::vector<TokenId>& ids) const {
    if (job_.delivery.return_token_ids) {
      AppendIds(out, ids);
    } else {
      out += "null";
    }
  }

  ApiCall call_;
  CompletionJob job_;
  std::vector<RequestOutput> outputs_;
  std::int64_t num_told_ = 0;  // choices
};

// The answer in chunks, one write for all that one step brought to a prompt.
class StreamedCompletion : public PromptListener {
 public:
  StreamedCompletion(ApiCall call, CompletionJob job, std::size_t num_prompts)
      : job_(std::move(job)), stream_(call.reply, std::move(call.warnings)) {
    AppendHead(before_, job_.head, "text_completion");
    before_.insert(0, "data: ");
    before_ += R"(,"choices":[{"index":)";
    prompts_.resize(num_prompts);
    for (std::size_t i = 0; i < num_prompts * job_.num_choices; ++i) {
      choices_.push_back({.logprobs = CompletionLogprobs(job_.names)});
    }
  }

  bool Hear(std::size_t index, RequestOutput output) override {
    Prompt& prompt = prompts_[index];
    if (!output.prompt_token_ids.empty()) TakePrompt(index, output);
    events_.clear();
    for (CompletionOutput& answer : output.outputs) {
      AppendChunk(prompt, index * job_.num_choices + static_cast<std::size_t>(answer.index),
                  answer);
    }
    return events_.empty() || stream_.Write(events_);
  }

  void Finish() override {
    events_.clear();
    if (job_.delivery.has_usage_chunk) {
      events_ += "data: ";
      AppendHead(events_, job_.head, "text_completion");
      events_ += R"(,"choices":[],)";
      AppendUsage(events_, usage_, job_.has_details);
      AppendFingerprint();
      events_ += "}\n\n";
    }
    stream_.Finish(std::move(events_));
  }

  void Fail(const Status& failure) override { stream_.Fail(job_.field_names.Translate(failure)); }

 private:
  struct Prompt {
    std::string echoed;
    std::vector<TokenId> ids;
  };
  struct Choice {
    bool has_begun = false;
    std::int64_t num_tokens = 0;
    CompletionLogprobs logprobs;
    std::vector<TokenId> ids;  // not told yet
  };

  void TakePrompt(std::size_t index, RequestOutput& output) {
    Prompt& prompt = prompts_[index];
    usage_.prompt_tokens += static_cast<std::int64_t>(output.prompt_token_ids.size());
    usage_.cached_tokens += output.num_cached_tokens;
    if (job_.echo) {
      prompt.echoed = EchoedText(job_, index, output);
      for (std::size_t i = 0; job_.has_logprobs && i < job_.num_choices; ++i) {
        AddPrompt(choices_[index * job_.num_choices + i].logprobs, job_, output, prompt.echoed);
      }
    }
    prompt.ids = std::move(output.prompt_token_ids);
  }

  void AppendChunk(Prompt& prompt, std::size_t choice_idx, CompletionOutput& answer) {
    Choice& choice = choices_[choice_idx];
    if (job_.is_echo_only) Hide(answer);
    const auto num_tokens = static_cast<std::int64_t>(answer.token_ids.size());
    choice.num_tokens += num_tokens;
    usage_.completion_tokens += num_tokens;
    if (job_.has_logprobs) choice.logprobs.Add(answer.token_ids, answer.logprobs);
    if (job_.delivery.return_token_ids) {
      choice.ids.insert(choice.ids.end(), answer.token_ids.begin(), answer.token_ids.end());
    }
    const bool is_first = !choice.has_begun;
    const bool has_news = !answer.text.empty() || answer.finish_reason || !choice.ids.empty() ||
                          !choice.logprobs.is_empty() || (is_first && !prompt.echoed.empty());
    if (!has_news) return;
    choice.has_begun = true;
    events_ += before_;
    AppendInt(events_, static_cast<std::int64_t>(choice_idx));
    events_ += R"(,"text":")";
    if (is_first) AppendJsonEscaped(events_, prompt.echoed);
    AppendJsonEscaped(events_, answer.text);
    events_ += R"(","logprobs":)";
    if (job_.has_logprobs && !choice.logprobs.is_empty()) {
      choice.logprobs.AppendTo(events_);
    } else {
      events_ += "null";
    }
    AppendEnd(events_, job_, answer);
    AppendChunkIds(prompt, choice, is_first);
    AppendChunkEnd(prompt, choice, answer.finish_reason.has_value());
  }

  void AppendChunkIds(const Prompt& prompt, Choice& choice, bool is_first) {
    if (!job_.delivery.return_token_ids) {
      events_ += R"(,"prompt_token_ids":null,"token_ids":null}])";
      return;
    }
    events_ += R"(,"prompt_token_ids":)";
    if (is_first) {
      AppendIds(events_, prompt.ids);
    } else {
      events_ += "null";
    }
    events_ += R"(,"token_ids":)";
    AppendIds(events_, choice.ids);
    choice.ids.clear();
    events_ += "}]";
  }

  void AppendChunkEnd(const Prompt& prompt, const Choice& choice, bool is_last) {
    if (job_.delivery.has_usage_in_chunks) {
      events_ += ',';
      AppendUsage(events_,
                  {.prompt_tokens = static_cast<std::int64_t>(prompt.ids.size()),
                   .completion_tokens = choice.num_tokens},
                  false);
    } else if (job_.delivery.has_usage_chunk) {
      events_ += R"(,"usage":null)";
    }
    if (is_last) AppendFingerprint();
    events_ += "}\n\n";
  }

  void AppendFingerprint() {
    events_ += R"(,"system_fingerprint":)";
    AppendJsonString(events_, job_.fingerprint);
  }

  CompletionJob job_;
  SseStream stream_;
  std::string before_;  // of every chunk, up to the choice's index
  std::string events_;  // of the call under way
  std::vector<Prompt> prompts_;
  std::vector<Choice> choices_;
  Usage usage_;
};

}  // namespace

std::unique_ptr<PromptListener> MakeCompletionListener(ApiCall call, CompletionJob job,
                                                       std::size_t num_prompts) {
  if (job.delivery.is_stream) {
    return std::make_unique<StreamedCompletion>(std::move(call), std::move(job), num_prompts);
  }
  return std::make_unique<GatheredCompletion>(std::move(call), std::move(job), num_prompts);
}

}  // namespace quire
