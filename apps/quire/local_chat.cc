#include "apps/quire/local_chat.h"

#include <cstdint>

#include "apps/quire/interrupt.h"
#include "base/strings.h"

namespace quire {

LocalChat::LocalChat(Llm& llm, ChatTemplate chat_template, const Options& options)
    : llm_(llm), template_(std::move(chat_template)), max_logprobs_(options.max_logprobs) {
  for (const auto& [name, text] : llm.tokenizer().template_tokens()) {
    variables_.emplace_back(name, Json(text));
  }
  if (!options.variables.is_object()) return;
  for (const auto& variable : options.variables.object()) variables_.push_back(variable);
}

// The ids of the chat so far with the beginning of an answer. The template writes what stands
// before a text, BOS included, so the tokenizer adds nothing.
Result<std::vector<TokenId>> LocalChat::PromptIds(const JsonArray& messages) const {
  ChatInputs inputs;
  inputs.messages = Json(messages);
  inputs.add_generation_prompt = true;
  inputs.variables = variables_;
  Result<std::string> text = template_.Render(inputs);
  if (!text.ok()) return text.status().With("chat template");
  return llm_.tokenizer().Encode(*text, {.add_special_tokens = false, .parse_special = true});
}

Result<ChatAnswer> LocalChat::Answer(const JsonArray& messages, const ChatSampling& sampling,
                                     const StreamSink& sink) {
  QUIRE_ASSIGN_OR_RETURN(std::vector<TokenId> ids, PromptIds(messages));
  const auto num_ids = static_cast<std::int64_t>(ids.size());
  const std::int64_t context = llm_.decisions().plan.max_model_len;
  if (num_ids >= context) {
    return InvalidArgument(
        StrCat("the context is full: with this message the conversation has ", num_ids,
               " tokens and the model takes ", context,
               "; the message was not sent and nothing is lost (/save FILE keeps the conversation, "
               "/clear begins a new one)"));
  }
  QUIRE_ASSIGN_OR_RETURN(const Generation generation,
                         Generate(std::move(ids), sampling.values, sink));
  const CompletionOutput answer =
      generation.answers().empty() ? CompletionOutput() : generation.answers().front();
  const bool is_cut = answer.finish_reason == FinishReason::kLength;
  const AnswerReport report{
      .speed_line = generation.SpeedLine(),
      .was_interrupted = answer.finish_reason == FinishReason::kAbort,
      .filled_context = is_cut && num_ids + generation.num_tokens() >= context};
  return ChatAnswer{.text = answer.text, .report = report};
}

Result<Generation> LocalChat::Generate(std::vector<TokenId> ids, const SamplingParams& sampling,
                                       const StreamSink& sink) {
  PromptInput input;
  input.token_ids = std::move(ids);
  input.sampling = sampling;
  input.sampling.output_kind = OutputKind::kDelta;
  const std::string id = StrCat("chat-", num_requests_++);
  Generation generation;
  QUIRE_RETURN_IF_ERROR(llm_.Submit(id, std::move(input)));
  std::vector<RequestOutput> outputs;
  Status written;
  while (llm_.has_unfinished()) {
    if (IsInterrupted() || !written.ok()) llm_.Abort(id);
    outputs.clear();
    QUIRE_RETURN_IF_ERROR(llm_.Step(outputs));
    for (const RequestOutput& output : outputs) {
      generation.Add(output);
      for (const CompletionOutput& delta : output.outputs) {
        if (!written.ok() || delta.text.empty()) continue;
        written = sink(StreamedText::kAnswer, delta.text);
      }
    }
  }
  QUIRE_RETURN_IF_ERROR(written);
  QUIRE_RETURN_IF_ERROR(generation.status());
  return generation;
}

Status LocalChat::Check(const SamplingParams& sampling) const {
  return sampling.Validate(static_cast<int>(llm_.facts().vocab_size), max_logprobs_);
}

}  // namespace quire
