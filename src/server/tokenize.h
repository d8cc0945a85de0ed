// POST /tokenize and /detokenize.
#pragma once

#include "base/status.h"
#include "formats/json.h"
#include "server/api_state.h"

namespace quire {

Status HandleTokenize(ApiCall call, Json body);
Status HandleDetokenize(ApiCall call, Json body);

}  // namespace quire
