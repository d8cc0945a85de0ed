#include "server/anthropic.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "server/anthropic_input.h"
#include "server/anthropic_listener.h"
#include "server/api_error.h"
#include "server/chat_job.h"
#include "server/common_request.h"
#include "server/messages_request.h"
#include "server/prompt_run.h"

namespace quire {
namespace {

Status SetSampling(const MessagesRequest& request, SamplingParams& sampling) {
  if (!request.max_tokens) return InvalidArgument("max_tokens: is required");
  sampling.max_tokens = request.max_tokens;
  sampling.stop = request.stop_sequences;
  for (const std::string& stop : sampling.stop) {
    if (stop.empty()) {
      return InvalidArgument("stop_sequences: must not hold an empty string");
    }
  }
  if (request.temperature) sampling.temperature = *request.temperature;
  if (request.top_k) sampling.top_k = *request.top_k;
  if (request.top_p) sampling.top_p = *request.top_p;
  return {};
}

}  // namespace

Status HandleMessages(ApiCall call, Json body) {
  MessagesRequest request;
  QUIRE_RETURN_IF_ERROR(ReadRequest(call, body, request));
  SamplingParams sampling = call.engine->sampling_defaults();
  QUIRE_RETURN_IF_ERROR(SetSampling(request, sampling));
  QUIRE_ASSIGN_OR_RETURN(AnthropicChat chat, ReadAnthropicChat(request.chat));

  CommonFields common;
  common.model = request.chat.model;
  common.stream = request.stream;
  common.cache_salt = request.cache_salt;
  common.constraint.response_format.value = std::move(chat.response_format);
  QUIRE_ASSIGN_OR_RETURN(const Delivery delivery, ReadCommon(call, common, sampling));
  ChatJob job;
  QUIRE_ASSIGN_OR_RETURN(job.tools, PlanTools(call.state, chat.prompt.tools, chat.tool_choice,
                                              chat.is_parallel, sampling));
  if (NeedsSpecialTokens(call.state, job.tools)) sampling.skip_special_tokens = false;
  if (!job.tools.shows_tools) chat.prompt.tools = Json();
  job.head = MakeReplyHead(call, "msg_", std::nullopt);
  job.is_stream = delivery.is_stream;

  std::vector<PromptInput> inputs;
  inputs.push_back(ChatInput(call.state, std::move(chat.prompt), job, InputOf(common, sampling)));
  const std::string id = job.head.id;
  const std::shared_ptr<HttpReply> reply = call.reply;
  const PromptPlace place{call.engine, &call.state.live_ids, reply.get()};
  PromptRun::Start(place, id, std::move(inputs),
                   MakeAnthropicListener(std::move(call), std::move(job), delivery.is_stream));
  return {};
}

Status HandleCountTokens(ApiCall call, Json body) {
  CountTokensRequest request;
  QUIRE_RETURN_IF_ERROR(ReadRequest(call, body, request));
  QUIRE_RETURN_IF_ERROR(CheckModel(call.state, request.model));
  if (!call.engine->has_tokenizer()) {
    return InvalidArgument("messages: the model has no tokenizer");
  }
  QUIRE_ASSIGN_OR_RETURN(AnthropicChat chat, ReadAnthropicChat(request));
  const auto prompt = std::make_shared<ChatPrompt>(std::move(chat.prompt));
  const auto shared = std::make_shared<ApiCall>(std::move(call));
  const auto count = [shared, prompt]() -> Status {
    QUIRE_ASSIGN_OR_RETURN(const std::string text,
                           shared->state.templates.Render(std::move(*prompt)));
    const auto ids = shared->engine->tokenizer().Encode(text, {.add_special_tokens = false});
    if (!ids.ok()) return ids.status().With("messages");
    SendJson(*shared,
             StrCat(R"({"input_tokens":)", ids->size(),
                    R"(,"context_management":{"original_input_tokens":)", ids->size(), "}}"));
    return {};
  };
  RunSized(shared->state, shared->request->body.size(), shared->reply, count,
           AnthropicErrorResponse);
  return {};
}

}  // namespace quire
