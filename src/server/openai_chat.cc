#include "server/openai_chat.h"

#include <memory>
#include <utility>

#include "base/strings.h"
#include "server/beam_run.h"
#include "server/chat_job.h"
#include "server/chat_listeners.h"
#include "server/common_request.h"

namespace quire {
namespace {

// logprobs, top_logprobs and the two names of max_tokens.
Status ReadCounts(ChatRequest& request) {
  const int top = request.top_logprobs.value_or(0);
  if (top != 0 && !request.logprobs.value_or(false)) {
    return InvalidArgument("top_logprobs: needs logprobs: true");
  }
  if (request.logprobs.value_or(false)) request.sampling.logprobs = top;
  if (!request.max_completion_tokens) return {};
  if (*request.max_completion_tokens < 1) {
    return InvalidArgument(
        StrCat("max_completion_tokens: must be at least 1, got ", *request.max_completion_tokens));
  }
  request.sampling.max_tokens = request.max_completion_tokens;
  return {};
}

// The role of the answer, and what it is to begin with.
void ReadLastMessage(const ApiState& state, const ChatRequest& request, ChatAnswerShape& shape) {
  shape.role = state.options.response_role;
  const Json& messages = request.messages.value;
  if (!messages.is_array() || messages.array().empty()) return;
  const Json& last = messages.array().back();
  const Json* role = last.Find("role");
  if (role == nullptr || !role->is_string()) return;
  if (!request.chat.add_generation_prompt) shape.role = role->string();
  const Json* content = last.Find("content");
  if (request.echo && role->string() == shape.role && content != nullptr && content->is_string()) {
    shape.echoed = content->string();
  }
}

}  // namespace

ChatPrompt ChatPromptOf(ChatRequest& request, bool shows_tools) {
  ChatPrompt prompt;
  prompt.messages = std::move(request.messages.value);
  if (shows_tools) prompt.tools = std::move(request.tools.value);
  prompt.documents = std::move(request.chat.documents.value);
  prompt.kwargs = std::move(request.chat.chat_template_kwargs.value);
  prompt.chat_template = std::move(request.chat.chat_template);
  prompt.reasoning_effort = std::move(request.reasoning_effort);
  prompt.add_generation_prompt = request.chat.add_generation_prompt;
  prompt.continue_final_message = request.chat.continue_final_message;
  return prompt;
}

Status HandleChat(ApiCall call, Json body) {
  ChatRequest request;
  request.sampling = call.engine->sampling_defaults();
  request.sampling.max_tokens.reset();
  QUIRE_RETURN_IF_ERROR(ReadRequest(call, body, request));
  QUIRE_RETURN_IF_ERROR(ReadCounts(request));
  ChatAnswerShape shape;
  QUIRE_ASSIGN_OR_RETURN(shape.delivery, ReadCommon(call, request.common, request.sampling));
  ChatJob job;
  QUIRE_ASSIGN_OR_RETURN(job.tools,
                         PlanTools(call.state, request.tools.value, request.tool_choice.value,
                                   request.parallel_tool_calls, request.sampling));
  if (NeedsSpecialTokens(call.state, job.tools)) request.sampling.skip_special_tokens = false;
  ReadLastMessage(call.state, request, shape);
  job.head = MakeReplyHead(call, "chatcmpl-", request.common.request_id);
  job.api = "chat_completions";
  job.is_stream = shape.delivery.is_stream;
  job.include_reasoning = request.include_reasoning;
  job.wants_prompt_text = request.return_prompt_text.value_or(false);
  job.add_special_tokens = request.chat.add_special_tokens;
  shape.has_logprobs = request.sampling.logprobs.has_value();
  const int n = request.sampling.n;
  shape.num_choices = static_cast<std::size_t>(std::clamp(n, 1, kMaxOutputs));

  std::vector<PromptInput> inputs;
  inputs.push_back(ChatInput(call.state, ChatPromptOf(request, job.tools.shows_tools), job,
                             InputOf(request.common, request.sampling)));
  const std::string id = job.head.id;
  const std::shared_ptr<HttpReply> reply = call.reply;
  const PromptPlace place{call.engine, &call.state.live_ids, reply.get()};
  StartPrompts(place, request.common, id, std::move(inputs),
               MakeChatListener(std::move(call), std::move(job), std::move(shape)));
  return {};
}

}  // namespace quire
