// POST /v1/completions.
#pragma once

#include "base/status.h"
#include "formats/json.h"
#include "server/api_state.h"

namespace quire {

Status HandleCompletion(ApiCall call, Json body);
// The prompts of such a request as token ids.
Status HandleCompletionRender(ApiCall call, Json body);
// Such a request's answer out of token ids that were generated for its prompts.
Status HandleCompletionDerender(ApiCall call, Json body);

}  // namespace quire
