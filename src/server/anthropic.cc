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
#include "server/reasoning_parser.h"
#include "server/render.h"

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

// A request that has been read, and what the engine is to do.
struct Messages {
  MessagesRequest request;
  ChatTask task;
};

// The names that a client of this dialect knows.
void AddNames(const AnthropicChat& chat, FieldNames& names) {
  for (std::size_t i = 0; i < chat.origins.size(); ++i) {
    names.Add(StrCat("messages[", i, "]"), chat.origins[i]);
  }
  names.Add("prompt", "messages");
  names.Add("stop", "stop_sequences");
  names.Add("thinking_token_budget", "thinking.budget_tokens");
  names.Add("response_format.json_schema", "output_config.format");
  names.Add("response_format", "output_config.format");
  names.Add("tool_choice.function", "tool_choice");
  names.AddOfTools(".function.parameters", ".input_schema");
  names.AddOfTools(".function", "");
}

// Says so where the model cannot reason as it is asked to.
void WarnOfThinking(ApiCall& call, const Json& thinking) {
  const Json* type = thinking.Find("type");
  const bool is_wanted = type != nullptr && type->is_string() && type->string() != "disabled";
  if (!is_wanted || call.state.reasoning != nullptr) return;
  if (call.state.templates.source().find("enable_thinking") != std::string_view::npos) return;
  Warn(call, "fields without effect here: thinking");
}

// budget_tokens is the thinking_token_budget of the other dialects. Clients send it without knowing
// the model, so it is no fault where it cannot be obeyed: without markers, or under a constraint
// that holds for the reasoning too. After the constraints of `sampling` are set.
Status SetBudget(ApiCall& call, Json& thinking, SamplingParams& sampling) {
  if (!thinking.is_object()) return {};
  ThinkingFields fields;
  const auto read = ReadFields(thinking, fields);
  if (!read.ok()) return UnderPath("thinking", read.status());
  if (fields.type != "enabled" || !fields.budget_tokens) return {};
  if (*fields.budget_tokens < 1) {
    return InvalidArgument(
        StrCat("thinking.budget_tokens: must be at least 1, got ", *fields.budget_tokens));
  }
  const ReasoningFormat* const reasoning = call.state.reasoning;
  if (reasoning == nullptr) return {};
  const bool is_constrained =
      call.state.options.enable_in_reasoning && sampling.structured_outputs != nullptr;
  if (!reasoning->begin_marker.empty() && !is_constrained) {
    sampling.thinking_token_budget = fields.budget_tokens;
  } else {
    Warn(call, "fields without effect here: thinking.budget_tokens");
  }
  return {};
}

// The chat, with notes of what has no effect for this model.
Result<AnthropicChat> ReadChat(ApiCall& call, CountTokensRequest& request) {
  WarnOfThinking(call, request.thinking.value);
  ChatPrompt given;  // before the dialect adds variables of its own
  given.kwargs = request.chat_template_kwargs.value;
  QUIRE_ASSIGN_OR_RETURN(AnthropicChat chat, ReadAnthropicChat(request));
  given.reasoning_effort = chat.prompt.reasoning_effort;
  WarnOfUnread(call, given, "output_config.effort");
  return chat;
}

Status CheckMessages(ApiCall& call, Messages& messages) {
  MessagesRequest& request = messages.request;
  ChatTask& task = messages.task;
  SamplingParams sampling = call.engine->sampling_defaults();
  QUIRE_RETURN_IF_ERROR(SetSampling(request, sampling));
  QUIRE_ASSIGN_OR_RETURN(AnthropicChat chat, ReadChat(call, request.chat));
  AddNames(chat, task.job.names);
  CommonFields common;
  common.model = request.chat.model;
  common.stream = request.stream;
  common.cache_salt = request.cache_salt;
  common.constraint.response_format.value = std::move(chat.response_format);
  QUIRE_ASSIGN_OR_RETURN(const Delivery delivery,
                         ReadCommon(call, common, sampling, task.job.names));
  task.job.is_stream = delivery.is_stream;
  const ToolFields tools{chat.prompt.tools, chat.tool_choice, chat.is_parallel};
  QUIRE_ASSIGN_OR_RETURN(task.job.tools, PlanTools(call, tools, sampling, task.job.names));
  QUIRE_RETURN_IF_ERROR(SetBudget(call, request.chat.thinking.value, sampling));
  if (NeedsSpecialTokens(call.state, task.job.tools)) sampling.skip_special_tokens = false;
  if (!task.job.tools.shows_tools) chat.prompt.tools = Json();
  task.prompt = std::move(chat.prompt);
  task.input = InputOf(call.state, common, sampling);
  return {};
}

Status ReadMessages(ApiCall& call, Json& body, Messages& messages) {
  QUIRE_RETURN_IF_ERROR(ReadRequest(call, body, messages.request));
  QUIRE_RETURN_IF_ERROR(messages.task.job.names.Translate(CheckMessages(call, messages)));
  messages.task.job.head = MakeReplyHead(call, "msg_", std::nullopt);
  return {};
}

}  // namespace

Status HandleMessages(ApiCall call, Json body) {
  Messages messages;
  QUIRE_RETURN_IF_ERROR(ReadMessages(call, body, messages));
  ChatJob& job = messages.task.job;
  std::vector<PromptInput> inputs;
  inputs.push_back(ChatInput(call.state, messages.task));
  const std::string id = job.head.id;
  const std::shared_ptr<HttpReply> reply = call.reply;
  const PromptPlace place{call.engine, &call.state.live_ids, reply.get()};
  PromptRun::Start(place, id, std::move(inputs),
                   MakeAnthropicListener(std::move(call), std::move(job)));
  return {};
}

Status HandleMessagesRender(ApiCall call, Json body) {
  Messages messages;
  QUIRE_RETURN_IF_ERROR(ReadMessages(call, body, messages));
  return RenderChat(std::move(call), std::move(messages.task), AnthropicErrorResponse);
}

Status HandleCountTokens(ApiCall call, Json body) {
  CountTokensRequest request;
  QUIRE_RETURN_IF_ERROR(ReadRequest(call, body, request));
  QUIRE_RETURN_IF_ERROR(CheckModel(call.state, request.model));
  QUIRE_ASSIGN_OR_RETURN(AnthropicChat chat, ReadChat(call, request));
  WarnOfTools(call, chat.prompt.tools);
  const auto prompt = std::make_shared<ChatPrompt>(std::move(chat.prompt));
  FieldNames names;
  AddNames(chat, names);
  const std::size_t num_bytes = call.request->body.size();
  return RunTokenizing(
      std::move(call), num_bytes,
      [prompt, names = std::move(names)](ApiCall& self) -> Status {
        const Result<std::string> text = self.state.templates.Render(std::move(*prompt));
        if (!text.ok()) return names.Translate(text.status());
        QUIRE_ASSIGN_OR_RETURN(const auto ids, Tokenize(self, *text, false, "messages"));
        SendJson(self,
                 StrCat(R"({"input_tokens":)", ids.size(),
                        R"(,"context_management":{"original_input_tokens":)", ids.size(), "}}"));
        return {};
      },
      AnthropicErrorResponse);
}

}  // namespace quire
