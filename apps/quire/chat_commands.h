// The lines of a chat that begin with a slash.
#pragma once

#include <string>
#include <string_view>

#include "apps/quire/chat_session.h"
#include "base/status.h"

namespace quire {

enum class ChatAction {
  kNothing,     // the command is done
  kRegenerate,  // the caller asks for the last answer again
  kExit,
};

// Whether the line is a command: one slash and not two.
bool IsChatCommand(std::string_view line);

// The message that a line stands for: a second slash at its beginning is only there to say that it
// is no command.
std::string ChatMessageOf(std::string_view line);

// Runs a command; what it has to say goes to standard error. kInvalidArgument, with the nearest
// name, for an unknown one.
Result<ChatAction> RunChatCommand(std::string_view line, ChatSession& session);

}  // namespace quire
