#include "server/chat_job.h"

#include <utility>

#include "base/log.h"
#include "server/constraint.h"

namespace quire {
namespace {

// So much of the prompt's end tells whether it opened the reasoning.
constexpr std::size_t kPromptEndBytes = 512;

// The constraint `given`, for what comes after the reasoning where the model's format has any.
Constraint AfterReasoning(const ApiState& state, const Constraint& given) {
  if (given == nullptr || state.reasoning == nullptr || state.options.enable_in_reasoning) {
    return given;
  }
  auto params = std::make_shared<StructuredOutputParams>(*given);
  params->reasoning = ReasoningMarkers{.begin = std::string(state.reasoning->begin_marker),
                                       .end = std::string(state.reasoning->end_marker),
                                       .begins_unmarked = state.reasoning->begins_unmarked};
  return params;
}

}  // namespace

PromptInput ChatInput(const ApiState& state, ChatPrompt chat, const ChatJob& job,
                      PromptInput input) {
  input.add_special_tokens = job.add_special_tokens;
  input.sampling.structured_outputs = AfterReasoning(state, input.sampling.structured_outputs);
  input.prepare = [&state, rendered = job.rendered, wants_text = job.wants_prompt_text,
                   prompt = std::make_shared<ChatPrompt>(std::move(chat))](PromptInput& self) {
    Result<std::string> text = state.templates.Render(std::move(*prompt));
    if (!text.ok()) return text.status();
    rendered->prompt_end = text->substr(text->size() - std::min(text->size(), kPromptEndBytes));
    if (wants_text) rendered->prompt_text = *text;
    self.text = *std::move(text);
    return Status();
  };
  return input;
}

bool NeedsSpecialTokens(const ApiState& state, const ToolPlan& tools) {
  return (state.reasoning != nullptr && state.reasoning->needs_special_tokens) ||
         (tools.mode == ToolMode::kAuto && state.tools->needs_special_tokens);
}

std::unique_ptr<AnswerParser> MakeParser(const ApiState& state, const ChatJob& job) {
  AnswerParserOptions options;
  options.reasoning = state.reasoning;
  options.prompt_end = job.rendered->prompt_end;
  options.id_seed = RandomSeed();
  switch (job.tools.mode) {
    case ToolMode::kRequired:
      return MakeRequiredCallParser(options);
    case ToolMode::kNamed:
      return MakeNamedCallParser(options, job.tools.function_name);
    case ToolMode::kAuto:
      options.tools = state.tools;
      break;
    case ToolMode::kNone:
      break;
  }
  if (options.reasoning == nullptr && options.tools == nullptr) return nullptr;
  return MakeAnswerParser(options);
}

ChatListener::ChatListener(const ApiState& state, ChatJob job, std::size_t num_choices)
    : state_(state),
      job_(std::move(job)),
      shows_special_tokens_(NeedsSpecialTokens(state, job_.tools)),
      choices_(num_choices) {}

bool ChatListener::Hear(std::size_t /*index*/, RequestOutput output) {
  if (!has_prompt_ && !output.prompt_token_ids.empty()) {
    has_prompt_ = true;
    usage_.prompt_tokens = static_cast<std::int64_t>(output.prompt_token_ids.size());
    usage_.cached_tokens = output.num_cached_tokens;
    HearPrompt(output);
  }
  for (CompletionOutput& answer : output.outputs) {
    const auto index = static_cast<std::size_t>(answer.index);
    Choice& choice = choices_[index];
    const auto num_tokens = static_cast<std::int64_t>(answer.token_ids.size());
    choice.num_tokens += num_tokens;
    usage_.completion_tokens += num_tokens;
    Parse(choice, answer);
    HearAnswer(index, events_, answer);
  }
  return EndNews();
}

void ChatListener::Parse(Choice& choice, CompletionOutput& answer) {
  events_.clear();
  if (!choice.has_begun) {
    choice.has_begun = true;
    choice.parser = MakeParser(state_, job_);
  }
  if (shows_special_tokens_) HideEndToken(answer);
  if (choice.parser == nullptr) {
    if (!answer.text.empty()) {
      events_.push_back({.kind = AnswerEventKind::kContent, .text = std::move(answer.text)});
    }
    return;
  }
  if (!answer.text.empty()) choice.parser->Feed(answer.text, events_);
  if (answer.finish_reason) choice.parser->Finish(events_);
  DropUnwanted(choice);
}

// With special tokens in the text, the one that ended the answer is there too.
void ChatListener::HideEndToken(CompletionOutput& answer) const {
  if (answer.finish_reason != FinishReason::kStop || answer.token_ids.empty() ||
      !std::holds_alternative<std::monostate>(answer.stop_reason)) {
    return;
  }
  const auto engine = state_.engine();
  if (engine == nullptr || !engine->has_tokenizer()) return;
  const std::string end = engine->tokenizer().TokenBytes(answer.token_ids.back());
  if (!end.empty() && answer.text.ends_with(end)) {
    answer.text.resize(answer.text.size() - end.size());
  }
}

void ChatListener::DropUnwanted(Choice& choice) {
  std::erase_if(events_, [&](const AnswerEvent& event) {
    if (event.kind == AnswerEventKind::kReasoning) return !job_.include_reasoning;
    if (event.kind == AnswerEventKind::kContent) return false;
    return !job_.tools.is_parallel && event.call_index > 0;
  });
  for (const AnswerEvent& event : events_) {
    if (event.kind == AnswerEventKind::kCallBegin) ++choice.num_calls;
  }
}

std::string_view ChatListener::FinishReasonOf(std::size_t choice,
                                              const CompletionOutput& answer) const {
  const bool has_called = choices_[choice].num_calls > 0;
  if (has_called && job_.tools.mode != ToolMode::kNamed &&
      answer.finish_reason == FinishReason::kStop) {
    return "tool_calls";
  }
  return ToString(*answer.finish_reason);
}

}  // namespace quire
