// From Anthropic's messages and tools to those of a chat.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "formats/json.h"
#include "server/chat_templates.h"
#include "server/messages_request.h"

namespace quire {

// What the shared part of the requests came down to.
struct AnthropicChat {
  ChatPrompt prompt;  // with its tools, whether they are shown or not
  Json tool_choice;   // as OpenAI's chats have it
  bool is_parallel = true;
  Json response_format;              // null: none
  std::vector<std::string> origins;  // the part of the request that each message was made of
};

// Uses the request up. kInvalidArgument names the field.
Result<AnthropicChat> ReadAnthropicChat(CountTokensRequest& request);

}  // namespace quire
