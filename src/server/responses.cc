#include "server/responses.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/strings.h"
#include "server/api_error.h"
#include "server/chat_job.h"
#include "server/common_request.h"
#include "server/http_target.h"
#include "server/json_text.h"
#include "server/prompt_run.h"
#include "server/render.h"
#include "server/response_events.h"
#include "server/response_listener.h"
#include "server/responses_input.h"
#include "server/responses_request.h"

namespace quire {
namespace {

constexpr std::string_view kPrefix = "/v1/responses/";

// Appends the messages of the chat that goes on.
Status ReadPrevious(const ApiCall& call, const ResponsesRequest& request, InputMessages& all) {
  if (!request.previous_response_id) return {};
  const auto stored = call.state.responses->Find(*request.previous_response_id);
  if (!stored) {
    return NotFound(StrCat("previous_response_id: there is no response ",
                           Printable(*request.previous_response_id), ", or not any more"));
  }
  if (stored->messages == nullptr) {
    return InvalidArgument("previous_response_id: that response is not complete");
  }
  for (const Json& message : stored->messages->array()) all.messages.push_back(message);
  all.origins.resize(all.messages.size(), "previous_response_id");
  return {};
}

Status CheckWays(const ResponsesRequest& request) {
  if (!request.background.value_or(false)) return {};
  if (!request.store.value_or(true)) return InvalidArgument("background: needs store: true");
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

// A request that has been read, and what the engine is to do.
struct Response {
  ResponsesRequest request;
  ChatTask task;
  ResponseShape shape;
};

// The chat: what went before, and the input. Its messages go to shape.messages.
Status ReadInput(const ApiCall& call, Response& response) {
  ResponsesRequest& request = response.request;
  FieldNames& names = response.task.job.names;
  InputMessages all;
  QUIRE_RETURN_IF_ERROR(ReadPrevious(call, request, all));
  QUIRE_ASSIGN_OR_RETURN(InputMessages news, MessagesOfInput(request.input.value));
  std::ranges::move(news.messages, std::back_inserter(all.messages));
  std::ranges::move(news.origins, std::back_inserter(all.origins));
  std::size_t message_idx = 0;
  JsonArray shown;
  if (request.instructions) {
    shown.push_back(
        Json(JsonObject{{"role", Json("system")}, {"content", Json(*request.instructions)}}));
    names.Add("messages[0]", "instructions");
    ++message_idx;
  }
  for (std::string& origin : all.origins) {
    names.Add(StrCat("messages[", message_idx++, "]"), std::move(origin));
  }
  shown.insert(shown.end(), all.messages.begin(), all.messages.end());
  response.task.prompt.messages = Json(std::move(shown));
  response.shape.messages = Json(std::move(all.messages));
  return {};
}

Status ReadTools(ApiCall& call, Response& response) {
  ResponsesRequest& request = response.request;
  ChatJob& job = response.task.job;
  job.names.Add("tool_choice.function", "tool_choice");
  job.names.AddOfTools(".function", "");
  QUIRE_ASSIGN_OR_RETURN(Json tools, ChatToolsOf(request.tools.value));
  const ToolFields fields{tools, request.tool_choice.value, request.parallel_tool_calls};
  QUIRE_ASSIGN_OR_RETURN(job.tools, PlanTools(call, fields, request.sampling, job.names));
  if (job.tools.shows_tools) response.task.prompt.tools = std::move(tools);
  return {};
}

Status ReadTemplateFields(ApiCall& call, Response& response) {
  ResponsesRequest& request = response.request;
  ChatPrompt& prompt = response.task.prompt;
  prompt.kwargs = std::move(request.chat_template_kwargs.value);
  if (const Json* effort = request.reasoning.value.Find("effort")) {
    const Status read =
        FieldReader::ReadWord(*effort, EffortWords::kWords, prompt.reasoning_effort);
    if (!read.ok()) return read.With("reasoning.effort");
  }
  WarnOfUnread(call, prompt, "reasoning.effort");
  return {};
}

Status CheckResponse(ApiCall& call, Response& response) {
  ResponsesRequest& request = response.request;
  FieldNames& names = response.task.job.names;
  for (const auto& [inner, outer] : {std::pair("max_tokens", "max_output_tokens"),
                                     {"logprobs", "top_logprobs"},
                                     {"prompt", "input"},
                                     {"response_format.json_schema", "text.format"},
                                     {"response_format", "text.format"}}) {
    names.Add(inner, outer);
  }
  QUIRE_RETURN_IF_ERROR(CheckWays(request));
  QUIRE_RETURN_IF_ERROR(Translate(request, response.shape.has_logprobs));
  QUIRE_ASSIGN_OR_RETURN(const Delivery delivery,
                         ReadCommon(call, request.common, request.sampling, names));
  response.task.job.api = "responses";
  response.task.job.is_stream = delivery.is_stream;
  QUIRE_RETURN_IF_ERROR(ReadInput(call, response));
  QUIRE_RETURN_IF_ERROR(ReadTools(call, response));
  return ReadTemplateFields(call, response);
}

Status ReadResponse(ApiCall& call, Json& body, Response& response) {
  ResponsesRequest& request = response.request;
  ChatJob& job = response.task.job;
  request.sampling = call.engine->sampling_defaults();
  QUIRE_RETURN_IF_ERROR(ReadRequest(call, body, request));
  QUIRE_RETURN_IF_ERROR(job.names.Translate(CheckResponse(call, response)));
  if (NeedsSpecialTokens(call.state, job.tools)) request.sampling.skip_special_tokens = false;
  job.head = MakeReplyHead(call, "resp_", request.common.request_id);
  job.include_reasoning = request.include_reasoning;
  ResponseShape& shape = response.shape;
  shape.id = job.head.id;
  shape.echoed = EchoOf(request);
  shape.is_background = request.background.value_or(false);
  shape.is_stored = request.store.value_or(true);
  response.task.input = InputOf(call.state, request.common, request.sampling);
  return {};
}

// Puts one that runs in the background into the store, and answers the client for now.
void BeginInBackground(ApiCall& call, const ChatJob& job, ResponseShape& shape) {
  std::string first = ResponseBody(shape, job.head, "in_progress");
  if (job.is_stream) {
    shape.events = std::make_shared<ResponseEvents>();
    const Status status = shape.events->Read(call.reply, call.warnings, -1);
    QUIRE_CHECK(status.ok()) << status.message();  // nothing has come yet
  }
  call.state.responses->Put(
      shape.id,
      {.body = first, .messages = {}, .events = shape.events, .run = {}, .is_running = true});
  if (!job.is_stream) SendJson(call, std::move(first));
}

void SendStored(HttpReply& reply, std::string body) {
  HttpResponse response;
  response.body = std::move(body);
  reply.Send(std::move(response));
}

HttpResponse Unknown(std::string_view id) {
  HttpResponse response;
  response.status = 404;
  response.body =
      ErrorBodyOfType("invalid_request_error", 404,
                      StrCat("response_id: there is no response ", Printable(id)), "response_id");
  return response;
}

// Sends the events of a stored response; gives why not.
Status SendEvents(const StoredResponse& stored, const HttpRequest& request,
                  const std::shared_ptr<HttpReply>& reply) {
  if (stored.events == nullptr) {
    return InvalidArgument(
        "stream: only the events of a response that was made with background: true and stream: "
        "true are kept");
  }
  std::int64_t starting_after = -1;
  if (const auto text = QueryValue(request.query, "starting_after")) {
    const auto number = ParseNumber<std::int64_t>(*text);
    if (!number) {
      return InvalidArgument(StrCat("starting_after: must be an integer, got ", Printable(*text)));
    }
    starting_after = *number;
  }
  return stored.events->Read(reply, {}, starting_after);
}

// The event that tells who reads along that a response was cancelled.
void EndCancelled(ResponseEvents& events, const std::string& body) {
  constexpr std::string_view kName = "response.incomplete";
  events.Append(StrCat("event: ", kName, "\ndata: {\"type\":\"", kName, "\",\"sequence_number\":",
                       events.num_events(), ",\"response\":", body, "}\n\n"));
  events.End();
}

}  // namespace

Status HandleResponse(ApiCall call, Json body) {
  Response response;
  QUIRE_RETURN_IF_ERROR(ReadResponse(call, body, response));
  ChatJob& job = response.task.job;
  ResponseShape& shape = response.shape;
  std::vector<PromptInput> inputs;
  inputs.push_back(ChatInput(call.state, response.task));
  const std::shared_ptr<HttpReply> reply = call.reply;
  const bool is_background = shape.is_background;
  const PromptPlace place{call.engine, &call.state.live_ids, is_background ? nullptr : reply.get()};
  ApiState& state = call.state;
  const std::string id = shape.id;
  if (is_background) BeginInBackground(call, job, shape);
  const auto run =
      PromptRun::Start(place, id, std::move(inputs),
                       MakeResponseListener(std::move(call), std::move(job), std::move(shape)));
  if (is_background) state.responses->NoteRun(id, run);
  return {};
}

Status HandleResponseRender(ApiCall call, Json body) {
  Response response;
  QUIRE_RETURN_IF_ERROR(ReadResponse(call, body, response));
  return RenderChat(std::move(call), std::move(response.task), ErrorResponse);
}

void HandleGetResponse(ApiState& state, const HttpRequest& request,
                       const std::shared_ptr<HttpReply>& reply) {
  const std::string id = request.path.substr(kPrefix.size());
  const auto stored = state.responses->Find(id);
  if (!stored) return reply->Send(Unknown(id));
  const std::string stream = QueryValue(request.query, "stream").value_or("false");
  if (stream != "true" && stream != "1") return SendStored(*reply, stored->body);
  const Status status = SendEvents(*stored, request, reply);
  if (!status.ok()) reply->Send(ErrorResponse(status));
}

void HandleCancelResponse(ApiState& state, const HttpRequest& request,
                          const std::shared_ptr<HttpReply>& reply) {
  constexpr std::string_view kSuffix = "/cancel";
  const std::string id =
      request.path.substr(kPrefix.size(), request.path.size() - kPrefix.size() - kSuffix.size());
  const auto stored = state.responses->Find(id);
  if (!stored) return reply->Send(Unknown(id));
  if (!stored->is_running) {
    return reply->Send(ErrorResponse(
        400, "response_id: only a response that runs in the background can be cancelled",
        "response_id"));
  }
  if (const auto run = stored->run.lock()) run->Cancel();
  std::string body = stored->body;
  constexpr std::string_view kRunning = R"("status":"in_progress")";
  const std::size_t at = body.find(kRunning);
  if (at != std::string::npos) body.replace(at, kRunning.size(), R"("status":"cancelled")");
  // It may have come to its end meanwhile; then that stands.
  if (state.responses->Complete(
          id, {.body = body, .messages = {}, .events = stored->events, .run = {}})) {
    if (stored->events != nullptr) EndCancelled(*stored->events, body);
  } else {
    const auto ended = state.responses->Find(id);
    if (ended) body = ended->body;
  }
  SendStored(*reply, std::move(body));
}

}  // namespace quire
