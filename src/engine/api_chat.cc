// Chats by the model's own template.
#include <utility>

#include "engine/api_convert.h"
#include "engine/api_llm.h"
#include "formats/json.h"
#include "tokenizer/chat_template.h"

namespace quire::api {
namespace {

::quire::Result<std::string> RenderChat(const Tokenizer& tokenizer,
                                        const std::vector<ChatMessage>& messages) {
  const std::string* source = tokenizer.FindChatTemplate();
  if (source == nullptr) return InvalidArgument("messages: the model has no chat template");
  QUIRE_ASSIGN_OR_RETURN(const ChatTemplate chat_template, ChatTemplate::Parse(*source));
  ChatInputs inputs;
  inputs.messages = Json(JsonArray{});
  for (const ChatMessage& message : messages) {
    Json item;
    item["role"] = Json(message.role);
    item["content"] = Json(message.content);
    inputs.messages.array().push_back(std::move(item));
  }
  inputs.add_generation_prompt = true;
  for (const auto& [name, text] : tokenizer.template_tokens()) {
    inputs.variables.emplace_back(name, Json(text));
  }
  return chat_template.Render(inputs);
}

}  // namespace

Result<Output> LLM::Chat(const std::vector<ChatMessage>& messages, const Options& sampling) {
  Llm& llm = *state_->llm;
  if (!llm.has_tokenizer()) {
    return Status(Code::kFailedPrecondition, "the model has no tokenizer");
  }
  if (messages.empty()) return Status(Code::kInvalidArgument, "messages: must not be empty");
  auto params = ToSamplingParams(llm.sampling_defaults(), sampling);
  if (!params.ok()) return ToPublic(params.status());
  auto text = RenderChat(llm.tokenizer(), messages);
  if (!text.ok()) return ToPublic(text.status());
  PromptInput input = ToPromptInput(Prompt(*std::move(text)), *std::move(params));
  input.add_special_tokens = false;  // the template writes them
  std::vector<PromptInput> inputs;
  inputs.push_back(std::move(input));
  return ToPublic(std::move(llm.Generate(std::move(inputs), {}).front()));
}

}  // namespace quire::api
