// /v1/responses: answers that are kept.
#pragma once

#include "base/status.h"
#include "formats/json.h"
#include "server/api_state.h"
#include "server/http.h"

namespace quire {

Status HandleResponse(ApiCall call, Json body);
void HandleGetResponse(ApiState& state, const HttpRequest& request, HttpReply& reply);
void HandleCancelResponse(ApiState& state, const HttpRequest& request, HttpReply& reply);

}  // namespace quire
