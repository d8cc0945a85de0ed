#include "apps/quire/chat_session.h"

#include <cstddef>
#include <span>
#include <utility>

#include "apps/quire/interrupt.h"
#include "apps/quire/io.h"
#include "base/strings.h"
#include "platform/mapped_file.h"

namespace quire {

namespace {

Json Message(const char* role, const std::string& content) {
  return Json(JsonObject{{"role", role}, {"content", content}});
}

bool HasRole(const Json& message, std::string_view role) {
  const Json* found = message.Find("role");
  return found != nullptr && found->is_string() && found->string() == role;
}

Status CheckMessage(const Json& message) {
  if (!message.is_object()) {
    return InvalidArgument(StrCat("must be an object, got ", message.kind()));
  }
  return RequireString(message, "role").status();
}

}  // namespace

ChatSession::ChatSession(Llm& llm, ChatTemplate chat_template, ChatSettings settings)
    : llm_(llm), template_(std::move(chat_template)), settings_(std::move(settings)) {
  for (const auto& [name, text] : llm.tokenizer().template_tokens()) {
    variables_.emplace_back(name, Json(text));
  }
  if (!settings_.variables.is_object()) return;
  for (const auto& variable : settings_.variables.object()) variables_.push_back(variable);
}

Result<AnswerReport> ChatSession::Ask(const std::string& text, const TextSink& sink) {
  JsonArray messages = messages_;
  messages.push_back(Message("user", text));
  return Answer(std::move(messages), sink);
}

Result<AnswerReport> ChatSession::Regenerate(const TextSink& sink) {
  JsonArray messages = messages_;
  if (!messages.empty() && HasRole(messages.back(), "assistant")) messages.pop_back();
  if (messages.empty() || !HasRole(messages.back(), "user")) {
    return InvalidArgument("there is no question yet to answer again");
  }
  return Answer(std::move(messages), sink);
}

// The ids of the chat so far with the beginning of an answer. The template writes what stands
// before a text, BOS included, so the tokenizer adds nothing.
Result<std::vector<TokenId>> ChatSession::PromptIds(const JsonArray& messages) const {
  ChatInputs inputs;
  inputs.messages = Json(messages);
  inputs.add_generation_prompt = true;
  inputs.variables = variables_;
  Result<std::string> text = template_.Render(inputs);
  if (!text.ok()) return text.status().With("chat template");
  return llm_.tokenizer().Encode(*text, {.add_special_tokens = false, .parse_special = true});
}

Result<AnswerReport> ChatSession::Answer(JsonArray messages, const TextSink& sink) {
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
  QUIRE_ASSIGN_OR_RETURN(const Generation generation, Generate(std::move(ids), sink));
  const CompletionOutput answer =
      generation.answers().empty() ? CompletionOutput() : generation.answers().front();
  messages.push_back(Message("assistant", answer.text));
  messages_ = std::move(messages);
  const bool is_cut = answer.finish_reason == FinishReason::kLength;
  return AnswerReport{.speed_line = generation.SpeedLine(),
                      .was_interrupted = answer.finish_reason == FinishReason::kAbort,
                      .filled_context = is_cut && num_ids + generation.num_tokens() >= context};
}

Result<Generation> ChatSession::Generate(std::vector<TokenId> ids, const TextSink& sink) {
  PromptInput input;
  input.token_ids = std::move(ids);
  input.sampling = settings_.sampling;
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
        if (written.ok() && !delta.text.empty()) written = sink(delta.text);
      }
    }
  }
  QUIRE_RETURN_IF_ERROR(written);
  QUIRE_RETURN_IF_ERROR(generation.status());
  return generation;
}

void ChatSession::SetSystem(const std::string& text) {
  if (system()) messages_.erase(messages_.begin());
  if (!text.empty()) messages_.insert(messages_.begin(), Message("system", text));
}

std::optional<std::string> ChatSession::system() const {
  if (messages_.empty() || !HasRole(messages_.front(), "system")) return std::nullopt;
  const Json* content = messages_.front().Find("content");
  if (content == nullptr) return "";
  return content->is_string() ? content->string() : content->Dump();
}

void ChatSession::Clear() {
  const std::optional<std::string> kept = system();
  messages_.clear();
  if (kept) SetSystem(*kept);
}

Status ChatSession::Save(const std::string& path) const {
  const std::string text = Json(JsonObject{{"messages", messages_}}).Dump(2) + "\n";
  return WriteFile(path, std::as_bytes(std::span(text)));
}

Status ChatSession::Load(const std::string& path) {
  QUIRE_ASSIGN_OR_RETURN(const std::string text, ReadInput(path));
  const Result<Json> parsed = ParseJson(text);
  if (!parsed.ok()) return parsed.status().With(path);
  const Json* list = parsed->is_array() ? &*parsed : parsed->Find("messages");
  if (list == nullptr || !list->is_array()) {
    return InvalidArgument(StrCat(path, ": has no array of messages"));
  }
  for (std::size_t i = 0; i < list->array().size(); ++i) {
    if (const Status status = CheckMessage(list->array()[i]); !status.ok()) {
      return status.With(StrCat(path, ": messages[", i, "]"));
    }
  }
  messages_ = list->array();
  return {};
}

Status ChatSession::SetSampling(SamplingParams sampling) {
  if (sampling.n != 1) return InvalidArgument(StrCat("n: must be 1 in a chat, got ", sampling.n));
  if (!sampling.detokenize) return InvalidArgument("detokenize: must be true in a chat");
  const auto vocab_size = static_cast<int>(llm_.facts().vocab_size);
  QUIRE_RETURN_IF_ERROR(sampling.Validate(vocab_size, settings_.max_logprobs));
  settings_.sampling = std::move(sampling);
  return {};
}

}  // namespace quire
