// POST /tokenize, /detokenize, and the render routes: prompts without an answer.
#pragma once

#include "base/status.h"
#include "formats/json.h"
#include "server/api_state.h"

namespace quire {

Status HandleTokenize(ApiCall call, Json body);
Status HandleDetokenize(ApiCall call, Json body);
// The requests that /v1/chat/completions and /v1/completions would give the engine: token ids,
// and for a chat its text.
Status HandleChatRender(ApiCall call, Json body);
Status HandleCompletionRender(ApiCall call, Json body);

}  // namespace quire
