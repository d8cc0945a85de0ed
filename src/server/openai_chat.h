// POST /v1/chat/completions.
#pragma once

#include "base/status.h"
#include "formats/json.h"
#include "server/api_state.h"
#include "server/chat_request.h"
#include "server/chat_templates.h"

namespace quire {

Status HandleChat(ApiCall call, Json body);

// The chat of a request, whose fields it uses up.
ChatPrompt ChatPromptOf(ChatRequest& request, bool shows_tools);

}  // namespace quire
