// The chat templates of the server, and the prompts that they make of chats.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "formats/json.h"
#include "server/api.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace quire {

// A chat as a client gave it.
struct ChatPrompt {
  Json messages;                             // an array
  Json tools;                                // null: none
  Json documents;                            // null: none
  Json kwargs;                               // an object or null: further variables of the template
  std::optional<std::string> chat_template;  // instead of the server's
  std::optional<std::string> reasoning_effort;
  bool add_generation_prompt = true;
  bool continue_final_message = false;
};

// Immutable; any thread.
class ChatTemplates {
 public:
  ChatTemplates() = default;  // none: every chat is refused

  // options.chat_template, or those beside the tokenizer (may be null). kInvalidArgument for a
  // syntax error in the one that would be used, and for an unknown content format.
  static Result<ChatTemplates> Load(const ApiOptions& options, const Tokenizer* tokenizer);

  // The chat's text; uses the chat up. kInvalidArgument names the message that cannot be shown, or
  // says why the template refuses.
  Result<std::string> Render(ChatPrompt prompt) const;

  // The text of the template that is used by default; empty where there is none.
  std::string_view source() const;
  // The same of the one for chats with tools.
  std::string_view tool_source() const;
  // Whether one of them reads a variable of that name; true where there is none.
  bool Reads(std::string_view variable) const;
  // Whether that one reads the tools of a request.
  bool ShowsTools() const { return tool_source().find("tools") != std::string_view::npos; }

 private:
  Result<std::string> RenderWith(const ChatTemplate& chat_template, ChatPrompt prompt) const;

  std::shared_ptr<const ChatTemplate> default_;
  std::shared_ptr<const ChatTemplate> tool_use_;  // where the model has one of its own for tools
  std::vector<std::pair<std::string, Json>> tokens_;  // bos_token, …
  std::vector<std::pair<std::string, Json>> default_kwargs_;
  std::string content_format_ = "auto";
  bool trusts_requests_ = false;
};

}  // namespace quire
