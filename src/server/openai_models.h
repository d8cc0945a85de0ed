// GET /v1/models and /v1/models/{id}.
#pragma once

#include <memory>

#include "server/api_state.h"
#include "server/http.h"

namespace quire {

void HandleModels(ApiState& state, const HttpRequest& request,
                  const std::shared_ptr<HttpReply>& reply);
void HandleModel(ApiState& state, const HttpRequest& request,
                 const std::shared_ptr<HttpReply>& reply);

}  // namespace quire
