// From the items of /v1/responses to the messages and tools of a chat.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "formats/json.h"
#include "server/chat_request.h"
#include "server/responses_request.h"

namespace quire {

struct InputMessages {
  JsonArray messages;
  std::vector<std::string> origins;  // the part of the request that each was made of
};

// The messages of `input`: a text, or a list of messages, calls, their outputs and reasoning.
// kInvalidArgument names the item. Used up.
Result<InputMessages> MessagesOfInput(Json& input);

// Tools as chats have them: {"type": "function", "function": {…}}. Null stays null.
Result<Json> ChatToolsOf(const Json& tools);

// text.format as a response_format; null where there is none.
Result<Json> ResponseFormatOf(const Json& text);

// What of include asks for logprobs; kInvalidArgument for what is not served.
Result<bool> WantsLogprobs(const Json& include);

}  // namespace quire
