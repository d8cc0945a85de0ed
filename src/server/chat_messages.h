// Messages of clients, made into what chat templates read.
#pragma once

#include <string_view>

#include "base/status.h"
#include "formats/json.h"

namespace quire {

// Checks an array of messages and brings them into the form that templates know:
//
//   content    a string, or a list of {"type": "text", "text"} where `as_parts`; null becomes empty
//   tool_calls arguments are objects
//   developer  becomes system where the template does not speak of developers
//
// kInvalidArgument names the message: "messages[2].content[0]: …".
Status PrepareMessages(Json& messages, bool as_parts, std::string_view template_source);

// For dialects whose messages are made from parts of other names, which refusals are to name.

// Brings the arguments of a call, the text of a JSON object or one, into their form there.
Status PrepareArguments(Json& arguments);
// Whether `content`, which clients call `name`, can become that of a message.
Status CheckContent(std::string_view name, const Json& content);

}  // namespace quire
