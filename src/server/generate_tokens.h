// POST /inference/v1/generate: token ids in, token ids out.
#pragma once

#include "base/status.h"
#include "formats/json.h"
#include "server/api_state.h"

namespace quire {

Status HandleGenerate(ApiCall call, Json body);

}  // namespace quire
