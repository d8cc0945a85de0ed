#include "server/chat_job.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "base/strings.h"
#include "server/common_request.h"
#include "server/constraint.h"
#include "server/reasoning_parser.h"

namespace quire {
namespace {

// So much of the prompt's end tells whether it opened the reasoning.
constexpr std::size_t kPromptEndBytes = 512;

// Of all strings in `value`.
std::size_t TextBytes(const Json& value) {
  std::size_t num_bytes = value.is_string() ? value.string().size() : 0;
  if (value.is_array()) {
    for (const Json& item : value.array()) num_bytes += TextBytes(item);
  }
  if (value.is_object()) {
    for (const auto& [name, item] : value.object()) num_bytes += TextBytes(item);
  }
  return num_bytes;
}

// Of a message: a text, or the texts of its parts.
std::string ContentText(const Json& message) {
  const Json* content = message.Find("content");
  if (content == nullptr) return {};
  if (content->is_string()) return content->string();
  std::string out;
  if (!content->is_array()) return out;
  for (const Json& part : content->array()) {
    const Json* text = part.Find("text");
    if (text != nullptr && text->is_string()) out += text->string();
  }
  return out;
}

bool HasReasoning(const Json& message) {
  return std::ranges::any_of(std::array{"reasoning", "reasoning_content"}, [&](const char* name) {
    const Json* text = message.Find(name);
    return text != nullptr && text->is_string() && !text->string().empty();
  });
}

// The constraint `given`, for what comes after the reasoning where the model's format has any.
Constraint AfterReasoning(const ApiState& state, const Constraint& given) {
  if (given == nullptr || state.reasoning == nullptr || state.options.enable_in_reasoning) {
    return given;
  }
  auto params = std::make_shared<StructuredOutputParams>(*given);
  params->reasoning = MarkersOf(state);
  return params;
}

}  // namespace

std::string_view MarkerInFinalMessage(const ApiState& state, const ChatPrompt& prompt) {
  const bool is_marked = state.reasoning != nullptr && !state.reasoning->begin_marker.empty();
  const Json& messages = prompt.messages;
  if (!is_marked || !prompt.continue_final_message) return {};
  if (!messages.is_array() || messages.array().empty()) return {};
  const Json& message = messages.array().back();
  const std::string text = ContentText(message);
  const std::size_t begin = text.rfind(state.reasoning->begin_marker);
  const std::size_t end = text.rfind(state.reasoning->end_marker);
  const bool is_over = end != text.npos && (begin == text.npos || begin < end);
  if (is_over) return state.reasoning->end_marker;
  if (begin != text.npos) return state.reasoning->begin_marker;
  // A template shows it before the content, within markers of its own.
  return HasReasoning(message) && !text.empty() ? state.reasoning->end_marker : std::string_view();
}

void KeepOfPrompt(const std::string& text, std::string_view marker, bool wants_text,
                  RenderedChat& rendered) {
  rendered.prompt_end = marker;
  if (marker.empty()) {
    rendered.prompt_end = text.substr(text.size() - std::min(text.size(), kPromptEndBytes));
  }
  if (wants_text) rendered.prompt_text = text;
}

PromptInput ChatInput(const ApiState& state, ChatTask& task) {
  PromptInput input = std::move(task.input);
  input.add_special_tokens = task.job.add_special_tokens;
  input.may_continue_reasoning = false;
  input.sampling.structured_outputs = AfterReasoning(state, input.sampling.structured_outputs);
  input.prepare_bytes = TextBytes(task.prompt.messages) + TextBytes(task.prompt.tools);
  input.prepare = [&state, rendered = task.job.rendered, wants_text = task.job.wants_prompt_text,
                   prompt =
                       std::make_shared<ChatPrompt>(std::move(task.prompt))](PromptInput& self) {
    const std::string_view marker = MarkerInFinalMessage(state, *prompt);
    Result<std::string> text = state.templates.Render(std::move(*prompt));
    if (!text.ok()) return text.status();
    KeepOfPrompt(*text, marker, wants_text, *rendered);
    if (!marker.empty()) {
      const bool is_inside = marker == state.reasoning->begin_marker;
      self.stage = is_inside ? ReasoningStage::kInside : ReasoningStage::kOver;
      self.may_continue_reasoning = is_inside;
    }
    self.text = *std::move(text);
    return Status();
  };
  return input;
}

void WarnOfUnread(ApiCall& call, const ChatPrompt& prompt, std::string_view effort_field) {
  if (prompt.chat_template) return;
  const ChatTemplates& templates = call.state.templates;
  std::vector<std::string> unread;
  if (prompt.documents.is_array() && !prompt.documents.array().empty() &&
      !templates.Reads("documents")) {
    unread.emplace_back("documents");
  }
  if (prompt.reasoning_effort && !templates.Reads("reasoning_effort")) {
    unread.emplace_back(effort_field);
  }
  if (prompt.kwargs.is_object()) {
    for (const auto& [name, value] : prompt.kwargs.object()) {
      if (!templates.Reads(name)) unread.push_back(StrCat("chat_template_kwargs.", name));
    }
  }
  WarnOf(call, "fields that the chat template does not read", unread);
}

void TakeTemplateFields(ChatTemplateFields& fields, ChatPrompt& prompt) {
  prompt.documents = std::move(fields.documents.value);
  prompt.kwargs = std::move(fields.chat_template_kwargs.value);
  prompt.chat_template = std::move(fields.chat_template);
  prompt.add_generation_prompt = fields.add_generation_prompt;
  prompt.continue_final_message = fields.continue_final_message;
}

bool NeedsSpecialTokens(const ApiState& state, const ToolPlan& tools) {
  return (state.reasoning != nullptr && state.reasoning->needs_special_tokens) ||
         (tools.mode == ToolMode::kAuto && state.tools->needs_special_tokens);
}

std::unique_ptr<AnswerParser> MakeParser(const ApiState& state, const ChatJob& job,
                                         const RenderedChat& rendered) {
  if (job.is_plain) return nullptr;
  AnswerParserOptions options;
  options.reasoning = state.reasoning;
  options.prompt_end = rendered.prompt_end;
  options.id_seed = RandomSeed();
  switch (job.tools.mode) {
    case ToolMode::kRequired:
      return MakeRequiredCallParser(options);
    case ToolMode::kNamed:
      return MakeNamedCallParser(options, job.tools.function_name);
    case ToolMode::kAuto:
      options.tools = state.tools;
      options.types = job.tools.types.get();
      break;
    case ToolMode::kNone:
      break;
  }
  if (options.reasoning == nullptr && options.tools == nullptr) return nullptr;
  return MakeAnswerParser(options);
}

ChatListener::ChatListener(const ApiCall& call, ChatJob job, std::size_t num_choices)
    : state_(call.state),
      tokenizer_(call.engine->has_tokenizer() ? &call.engine->tokenizer() : nullptr),
      job_(std::move(job)),
      shows_special_tokens_(NeedsSpecialTokens(call.state, job_.tools)),
      num_choices_(num_choices),
      has_prompt_(job_.num_prompts()),
      choices_(num_choices * job_.num_prompts()) {
  usage_.prompt_tokens = job_.num_prompt_tokens;
}

bool ChatListener::Hear(std::size_t prompt_idx, RequestOutput output) {
  if (!has_prompt_[prompt_idx] && !output.prompt_token_ids.empty()) {
    has_prompt_[prompt_idx] = true;
    usage_.prompt_tokens += static_cast<std::int64_t>(output.prompt_token_ids.size());
    usage_.cached_tokens += output.num_cached_tokens;
    HearPrompt(output);
  }
  for (CompletionOutput& answer : output.outputs) {
    const auto index = prompt_idx * num_choices_ + static_cast<std::size_t>(answer.index);
    Choice& choice = choices_[index];
    const auto num_tokens = static_cast<std::int64_t>(answer.token_ids.size());
    choice.num_tokens += num_tokens;
    usage_.completion_tokens += num_tokens;
    if (!choice.has_begun) Begin(choice, job_.rendered_of(prompt_idx));
    CountReasoning(choice, answer);
    Parse(choice, answer);
    HearAnswer(index, events_, answer);
  }
  return EndNews();
}

void ChatListener::Begin(Choice& choice, const RenderedChat& rendered) {
  choice.has_begun = true;
  choice.parser = MakeParser(state_, job_, rendered);
  if (job_.is_plain || state_.reasoning == nullptr || tokenizer_ == nullptr) return;
  choice.reasoning.emplace(state_.reasoning->make(rendered.prompt_end));
  usage_.reasoning_tokens = usage_.reasoning_tokens.value_or(0);
}

void ChatListener::CountReasoning(Choice& choice, const CompletionOutput& answer) {
  if (!choice.reasoning) return;
  for (const TokenId id : answer.token_ids) {
    *usage_.reasoning_tokens += choice.reasoning->Hear(tokenizer_->TokenBytes(id));
  }
  if (answer.finish_reason) *usage_.reasoning_tokens += choice.reasoning->Finish();
}

void ChatListener::Parse(Choice& choice, CompletionOutput& answer) {
  events_.clear();
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
  if (job_.tools.mode != ToolMode::kNone) CountParsing(choice, answer.finish_reason.has_value());
}

// As vLLM counts: each piece of a stream, or a whole answer once.
void ChatListener::CountParsing(const Choice& choice, bool is_last) const {
  if (!job_.is_stream && !is_last) return;
  const auto engine = state_.engine();
  if (engine == nullptr) return;
  const bool has_found =
      job_.is_stream ? std::ranges::any_of(events_,
                                           [](const AnswerEvent& event) {
                                             return event.kind == AnswerEventKind::kCallBegin ||
                                                    event.kind == AnswerEventKind::kArguments;
                                           })
                     : choice.num_calls > 0;
  engine->metrics().NoteToolParsing(job_.is_stream, has_found, job_.api);
}

// With special tokens in the text, the one that ended the answer is there too.
void ChatListener::HideEndToken(CompletionOutput& answer) const {
  if (answer.finish_reason != FinishReason::kStop || answer.token_ids.empty() ||
      !std::holds_alternative<std::monostate>(answer.stop_reason)) {
    return;
  }
  if (tokenizer_ == nullptr) return;
  const std::string end = tokenizer_->TokenBytes(answer.token_ids.back());
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
