#include "server/openai_models.h"

#include <algorithm>
#include <string>

#include "base/strings.h"
#include "server/api_error.h"
#include "server/json_text.h"

namespace quire {
namespace {

void AppendModel(std::string& out, const ApiState& state, std::string_view name) {
  const auto engine = state.engine();
  out += R"({"id":)";
  AppendJsonString(out, name);
  out += R"(,"object":"model","created":)";
  AppendInt(out, state.created);
  out += R"(,"owned_by":"quire","root":)";
  AppendJsonString(out, state.options.model_root);
  out += R"(,"parent":null,"max_model_len":)";
  if (engine == nullptr) {
    out += "null";
  } else {
    AppendInt(out, engine->decisions().plan.max_model_len);
  }
  out += R"(,"permission":[{"id":"modelperm-)" + FreshId();
  out += R"(","object":"model_permission","created":)";
  AppendInt(out, state.created);
  out += R"(,"allow_create_engine":false,"allow_sampling":true,"allow_logprobs":true,)"
         R"("allow_search_indices":false,"allow_view":true,"allow_fine_tuning":false,)"
         R"("organization":"*","group":null,"is_blocking":false}]})";
}

}  // namespace

void HandleModels(ApiState& state, const HttpRequest& /*request*/,
                  const std::shared_ptr<HttpReply>& reply) {
  HttpResponse response;
  response.body = R"({"object":"list","data":[)";
  for (const std::string& name : state.options.served_model_names) {
    if (response.body.back() == '}') response.body += ',';
    AppendModel(response.body, state, name);
  }
  response.body += "]}";
  reply->Send(std::move(response));
}

void HandleModel(ApiState& state, const HttpRequest& request,
                 const std::shared_ptr<HttpReply>& reply) {
  constexpr std::string_view kPrefix = "/v1/models/";
  const std::string name = request.path.substr(std::min(kPrefix.size(), request.path.size()));
  if (const Status status = CheckModel(state, name); !status.ok()) {
    return reply->Send(ErrorResponse(status));
  }
  HttpResponse response;
  AppendModel(response.body, state, name);
  reply->Send(std::move(response));
}

}  // namespace quire
