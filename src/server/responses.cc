#include "server/responses.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "server/api_error.h"
#include "server/chat_job.h"
#include "server/common_request.h"
#include "server/json_text.h"
#include "server/prompt_run.h"
#include "server/response_listener.h"
#include "server/responses_input.h"
#include "server/responses_request.h"

namespace quire {
namespace {

constexpr std::string_view kPrefix = "/v1/responses/";

Status ReadPrevious(ApiCall& call, const ResponsesRequest& request, JsonArray& messages) {
  if (!request.previous_response_id) return {};
  const auto stored = call.state.responses->Find(*request.previous_response_id);
  if (!stored) {
    return NotFound(StrCat("previous_response_id: there is no response ",
                           Printable(*request.previous_response_id), ", or not any more"));
  }
  if (stored->messages == nullptr) {
    return InvalidArgument("previous_response_id: that response is not complete");
  }
  messages = stored->messages->array();
  return {};
}

Status CheckWays(const ResponsesRequest& request) {
  if (!request.background.value_or(false)) return {};
  if (!request.store.value_or(true)) return InvalidArgument("background: needs store: true");
  if (request.common.stream.value_or(false)) {
    return InvalidArgument("background: excludes stream: true");
  }
  return {};
}

// The members of the response object that say what was asked for.
std::string EchoOf(const ResponsesRequest& request) {
  std::string out;
  const auto add = [&out](std::string_view name, const Json& value) {
    out += StrCat(",\"", name, "\":", value.Dump());
  };
  const auto text = [](const std::optional<std::string>& value) {
    return value ? Json(*value) : Json();
  };
  const auto number = [](const std::optional<int>& value) { return value ? Json(*value) : Json(); };
  add("instructions", text(request.instructions));
  add("metadata", request.metadata.value);
  add("parallel_tool_calls", Json(request.parallel_tool_calls));
  add("temperature", Json(request.sampling.temperature));
  add("tool_choice", request.tool_choice.is_given() ? request.tool_choice.value : Json("auto"));
  add("tools", request.tools.is_given() ? request.tools.value : Json(JsonArray{}));
  add("top_p", Json(request.sampling.top_p));
  add("background", Json(request.background.value_or(false)));
  add("max_output_tokens", number(request.max_output_tokens));
  add("max_tool_calls", Json());
  add("previous_response_id", text(request.previous_response_id));
  add("prompt", Json());
  add("reasoning", request.reasoning.value);
  add("service_tier", Json("auto"));
  add("store", Json(request.store.value_or(true)));
  add("text", request.text.value);
  add("top_logprobs", number(request.top_logprobs));
  add("truncation", Json("disabled"));
  add("user", Json());
  add("presence_penalty", Json(request.sampling.presence_penalty));
  add("frequency_penalty", Json(request.sampling.frequency_penalty));
  return out;
}

// Fields that chats have under other names.
Status Translate(ResponsesRequest& request, bool& has_logprobs) {
  if (request.max_output_tokens && *request.max_output_tokens < 1) {
    return InvalidArgument(
        StrCat("max_output_tokens: must be at least 1, got ", *request.max_output_tokens));
  }
  request.sampling.max_tokens = request.max_output_tokens;
  QUIRE_ASSIGN_OR_RETURN(has_logprobs, WantsLogprobs(request.include.value));
  if (has_logprobs) request.sampling.logprobs = request.top_logprobs.value_or(0);
  if (!has_logprobs && request.top_logprobs.value_or(0) != 0) {
    return InvalidArgument("top_logprobs: needs message.output_text.logprobs in include");
  }
  if (request.text.is_given()) {
    QUIRE_ASSIGN_OR_RETURN(Json format, ResponseFormatOf(request.text.value));
    request.common.constraint.response_format.value = std::move(format);
  }
  return {};
}

Result<ChatPrompt> PromptOf(ResponsesRequest& request, const JsonArray& messages, Json tools) {
  ChatPrompt prompt;
  JsonArray all;
  if (request.instructions) {
    all.push_back(
        Json(JsonObject{{"role", Json("system")}, {"content", Json(*request.instructions)}}));
  }
  all.insert(all.end(), messages.begin(), messages.end());
  prompt.messages = Json(std::move(all));
  prompt.tools = std::move(tools);
  prompt.kwargs = std::move(request.chat_template_kwargs.value);
  const Json* effort = request.reasoning.value.Find("effort");
  if (effort != nullptr && effort->is_string()) prompt.reasoning_effort = effort->string();
  return prompt;
}

void SendStored(HttpReply& reply, std::string body) {
  HttpResponse response;
  response.body = std::move(body);
  reply.Send(std::move(response));
}

HttpResponse Unknown(std::string_view id) {
  return ErrorResponse(404, StrCat("response_id: there is no response ", Printable(id)),
                       "response_id");
}

}  // namespace

Status HandleResponse(ApiCall call, Json body) {
  ResponsesRequest request;
  request.sampling = call.engine->sampling_defaults();
  QUIRE_RETURN_IF_ERROR(ReadRequest(call, body, request));
  QUIRE_RETURN_IF_ERROR(CheckWays(request));
  ResponseShape shape;
  QUIRE_RETURN_IF_ERROR(Translate(request, shape.has_logprobs));
  QUIRE_ASSIGN_OR_RETURN(const Delivery delivery,
                         ReadCommon(call, request.common, request.sampling));
  JsonArray messages;
  QUIRE_RETURN_IF_ERROR(ReadPrevious(call, request, messages));
  QUIRE_ASSIGN_OR_RETURN(JsonArray news, MessagesOfInput(request.input.value));
  messages.insert(messages.end(), std::make_move_iterator(news.begin()),
                  std::make_move_iterator(news.end()));
  QUIRE_ASSIGN_OR_RETURN(Json tools, ChatToolsOf(request.tools.value));

  ChatJob job;
  QUIRE_ASSIGN_OR_RETURN(job.tools, PlanTools(call.state, tools, request.tool_choice.value,
                                              request.parallel_tool_calls, request.sampling));
  if (NeedsSpecialTokens(call.state, job.tools)) request.sampling.skip_special_tokens = false;
  if (!job.tools.shows_tools) tools = Json();
  job.head = MakeReplyHead(call, "resp_", request.common.request_id);
  job.api = "responses";
  job.is_stream = delivery.is_stream;
  job.include_reasoning = request.include_reasoning;
  shape.id = job.head.id;
  shape.echoed = EchoOf(request);
  shape.is_stream = delivery.is_stream;
  shape.is_background = request.background.value_or(false);
  shape.is_stored = request.store.value_or(true);

  std::vector<PromptInput> inputs;
  QUIRE_ASSIGN_OR_RETURN(ChatPrompt prompt, PromptOf(request, messages, std::move(tools)));
  inputs.push_back(
      ChatInput(call.state, std::move(prompt), job, InputOf(request.common, request.sampling)));
  shape.messages = Json(std::move(messages));

  const std::shared_ptr<HttpReply> reply = call.reply;
  const PromptPlace place{call.engine, &call.state.live_ids,
                          shape.is_background ? nullptr : reply.get()};
  ApiState& state = call.state;
  const std::string id = shape.id;
  const bool is_background = shape.is_background;
  if (is_background) {
    std::string first = ResponseBody(shape, job.head, "in_progress");
    state.responses->Put(id, {.body = first, .is_running = true});
    SendJson(call, std::move(first));
  }
  const auto run =
      PromptRun::Start(place, id, std::move(inputs),
                       MakeResponseListener(std::move(call), std::move(job), std::move(shape)));
  if (is_background) state.responses->NoteRun(id, run);
  return {};
}

void HandleGetResponse(ApiState& state, const HttpRequest& request, HttpReply& reply) {
  const std::string id = request.path.substr(kPrefix.size());
  const auto stored = state.responses->Find(id);
  if (!stored) return reply.Send(Unknown(id));
  SendStored(reply, stored->body);
}

void HandleCancelResponse(ApiState& state, const HttpRequest& request, HttpReply& reply) {
  constexpr std::string_view kSuffix = "/cancel";
  const std::string id =
      request.path.substr(kPrefix.size(), request.path.size() - kPrefix.size() - kSuffix.size());
  const auto stored = state.responses->Find(id);
  if (!stored) return reply.Send(Unknown(id));
  if (!stored->is_running) {
    return reply.Send(ErrorResponse(
        400, "response_id: only a response that runs in the background can be cancelled",
        "response_id"));
  }
  if (const auto run = stored->run.lock()) run->Cancel();
  std::string body = stored->body;
  constexpr std::string_view kRunning = R"("status":"in_progress")";
  const std::size_t at = body.find(kRunning);
  if (at != std::string::npos) body.replace(at, kRunning.size(), R"("status":"cancelled")");
  // It may have come to its end meanwhile; then that stands.
  if (!state.responses->Complete(id, {.body = body})) {
    const auto ended = state.responses->Find(id);
    if (ended) body = ended->body;
  }
  SendStored(reply, std::move(body));
}

}  // namespace quire
