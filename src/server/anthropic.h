// Anthropic's /v1/messages.
#pragma once

#include "base/status.h"
#include "formats/json.h"
#include "server/api_state.h"

namespace quire {

Status HandleMessages(ApiCall call, Json body);
// The prompt of such a request, as token ids and text.
Status HandleMessagesRender(ApiCall call, Json body);
Status HandleCountTokens(ApiCall call, Json body);

}  // namespace quire
