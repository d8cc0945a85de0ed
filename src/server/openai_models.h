// GET /v1/models and /v1/models/{id}.
#pragma once

#include <memory>

#include "server/api_state.h"
#include "server/http.h"

namespace quire {

void HandleModels(ApiState& state, const HttpRequest& request, HttpReply& reply);
void HandleModel(ApiState& state, const HttpRequest& request, HttpReply& reply);

}  // namespace quire
