#include "server/chat_templates.h"

#include "base/strings.h"
#include "server/chat_messages.h"

namespace quire {
namespace {

Result<std::shared_ptr<const ChatTemplate>> ParseTemplate(const std::string& source) {
  QUIRE_ASSIGN_OR_RETURN(ChatTemplate parsed, ChatTemplate::Parse(source));
  return std::make_shared<const ChatTemplate>(std::move(parsed));
}

}  // namespace

Result<ChatTemplates> ChatTemplates::Load(const ApiOptions& options, const Tokenizer* tokenizer) {
  ChatTemplates templates;
  const std::string& format = options.chat_template_content_format;
  if (format != "auto" && format != "string" && format != "openai") {
    return InvalidArgument(StrCat(
        "chat-template-content-format: must be auto, string or openai, got ", Printable(format)));
  }
  templates.content_format_ = format;
  templates.trusts_requests_ = options.trust_request_chat_template;
  if (const Json& kwargs = options.default_chat_template_kwargs; kwargs.is_object()) {
    templates.default_kwargs_ = kwargs.object();
  } else if (!kwargs.is_null()) {
    return InvalidArgument(
        StrCat("default-chat-template-kwargs: must be an object, got ", kwargs.kind()));
  }
  if (tokenizer == nullptr) return templates;
  for (const auto& [name, text] : tokenizer->template_tokens()) {
    templates.tokens_.emplace_back(name, Json(text));
  }
  if (!options.chat_template.empty()) {
    auto parsed = ParseTemplate(options.chat_template);
    if (!parsed.ok()) return parsed.status().With("chat-template");
    templates.default_ = *std::move(parsed);
    return templates;
  }
  const std::string* source = tokenizer->FindChatTemplate();
  if (source == nullptr) return templates;
  auto parsed = ParseTemplate(*source);
  if (!parsed.ok()) return parsed.status().With("the model's chat template");
  templates.default_ = *std::move(parsed);
  if (const std::string* tool_use = tokenizer->FindChatTemplate("tool_use")) {
    auto parsed_tool_use = ParseTemplate(*tool_use);
    if (!parsed_tool_use.ok()) return parsed_tool_use.status().With("chat template tool_use");
    templates.tool_use_ = *std::move(parsed_tool_use);
  }
  return templates;
}

std::string_view ChatTemplates::source() const {
  return default_ == nullptr ? std::string_view() : default_->source();
}

std::string_view ChatTemplates::tool_source() const {
  return tool_use_ == nullptr ? source() : tool_use_->source();
}

bool ChatTemplates::Reads(std::string_view variable) const {
  return default_ == nullptr || default_->Uses(variable) ||
         (tool_use_ != nullptr && tool_use_->Uses(variable));
}

Result<std::string> ChatTemplates::Render(ChatPrompt prompt) const {
  if (prompt.chat_template) {
    if (!trusts_requests_) {
      return InvalidArgument(
          "chat_template: is taken from a request only where the server runs with "
          "--trust-request-chat-template");
    }
    auto parsed = ParseTemplate(*prompt.chat_template);
    if (!parsed.ok()) return parsed.status().With("chat_template");
    return RenderWith(**parsed, std::move(prompt));
  }
  const bool has_tools = prompt.tools.is_array() && !prompt.tools.array().empty();
  const auto& chosen = has_tools && tool_use_ != nullptr ? tool_use_ : default_;
  if (chosen == nullptr) {
    return InvalidArgument(
        "messages: the model has no chat template; the server takes one with --chat-template");
  }
  return RenderWith(*chosen, std::move(prompt));
}

Result<std::string> ChatTemplates::RenderWith(const ChatTemplate& chat_template,
                                              ChatPrompt prompt) const {
  if (prompt.add_generation_prompt && prompt.continue_final_message) {
    return InvalidArgument(
        "continue_final_message: excludes add_generation_prompt, set that to false");
  }
  const bool as_parts =
      content_format_ == "auto" ? chat_template.WantsContentParts() : content_format_ == "openai";
  QUIRE_RETURN_IF_ERROR(PrepareMessages(prompt.messages, as_parts, chat_template.source()));
  ChatInputs inputs;
  inputs.messages = std::move(prompt.messages);
  if (prompt.tools.is_array() && !prompt.tools.array().empty()) {
    inputs.tools = std::move(prompt.tools);
  }
  inputs.documents = std::move(prompt.documents);
  inputs.add_generation_prompt = prompt.add_generation_prompt;
  inputs.continue_final_message = prompt.continue_final_message;
  inputs.variables = tokens_;
  inputs.variables.insert(inputs.variables.end(), default_kwargs_.begin(), default_kwargs_.end());
  if (prompt.reasoning_effort) {
    inputs.variables.emplace_back("reasoning_effort", Json(*prompt.reasoning_effort));
  }
  if (!prompt.kwargs.is_null() && !prompt.kwargs.is_object()) {
    return InvalidArgument(
        StrCat("chat_template_kwargs: must be an object, got ", prompt.kwargs.kind()));
  }
  if (prompt.kwargs.is_object()) {
    for (auto& [name, value] : prompt.kwargs.object()) {
      inputs.variables.emplace_back(name, std::move(value));
    }
  }
  Result<std::string> text = chat_template.Render(inputs);
  if (!text.ok()) {
    // What a template refuses or cannot take is the client's to change.
    return InvalidArgument(StrCat("messages: ", text.status().message()));
  }
  return text;
}

}  // namespace quire
