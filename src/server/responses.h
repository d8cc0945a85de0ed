// /v1/responses: answers that are kept.
#pragma once

#include <memory>

#include "base/status.h"
#include "formats/json.h"
#include "server/api_state.h"
#include "server/http.h"

namespace quire {

Status HandleResponse(ApiCall call, Json body);
// The prompt of such a request, as token ids and text.
Status HandleResponseRender(ApiCall call, Json body);
// With ?stream=true the events of one that was made with background and stream, those after
// number ?starting_after where it is given.
void HandleGetResponse(ApiState& state, const HttpRequest& request,
                       const std::shared_ptr<HttpReply>& reply);
void HandleCancelResponse(ApiState& state, const HttpRequest& request,
                          const std::shared_ptr<HttpReply>& reply);

}  // namespace quire
