// POST /v1/chat/completions and what is made of such a request.
#pragma once

#include "base/status.h"
#include "formats/json.h"
#include "server/api_state.h"

namespace quire {

Status HandleChat(ApiCall call, Json body);
// The prompt of such a request, as token ids and text.
Status HandleChatRender(ApiCall call, Json body);
// Such a request's answer out of token ids that were generated for its prompt.
Status HandleChatDerender(ApiCall call, Json body);
// {"messages": [[…], […]]}: one answer with the choices of every chat, one chat after the other.
Status HandleChatBatch(ApiCall call, Json body);

}  // namespace quire
