#include "server/openai_chat.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "server/api_error.h"
#include "server/beam_run.h"
#include "server/chat_job.h"
#include "server/chat_listeners.h"
#include "server/chat_request.h"
#include "server/common_request.h"
#include "server/completion_prompts.h"
#include "server/derender.h"
#include "server/derender_request.h"
#include "server/render.h"

namespace quire {
namespace {

// logprobs, top_logprobs and the two names of max_tokens. Gives whether there are logprobs.
Result<bool> ReadCounts(ChatRequest& request, FieldNames& names) {
  const int top = request.top_logprobs.value_or(0);
  const int num_ids = static_cast<int>(request.sampling.logprob_token_ids.size());
  if (!request.logprobs.value_or(false)) {
    if (top != 0) return InvalidArgument("top_logprobs: needs logprobs: true");
    if (num_ids > 0) return InvalidArgument("logprob_token_ids: needs logprobs: true");
  } else {
    request.sampling.logprobs = top == 0 ? num_ids : top;
    names.Add("logprobs", "top_logprobs");
  }
  QUIRE_ASSIGN_OR_RETURN(const bool has_logprobs, ReadLogprobs(request.sampling));
  if (!request.max_completion_tokens) return has_logprobs;
  if (*request.max_completion_tokens < 1) {
    return InvalidArgument(
        StrCat("max_completion_tokens: must be at least 1, got ", *request.max_completion_tokens));
  }
  request.sampling.max_tokens = request.max_completion_tokens;
  names.Add("max_tokens", "max_completion_tokens");
  return has_logprobs;
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

ChatPrompt PromptOf(ChatRequest& request, bool shows_tools) {
  ChatPrompt prompt;
  prompt.messages = std::move(request.messages.value);
  if (shows_tools) prompt.tools = std::move(request.tools.value);
  TakeTemplateFields(request.chat, prompt);
  prompt.reasoning_effort = std::move(request.reasoning_effort.value);
  return prompt;
}

// A request that has been read, and what the engine is to do.
struct Chat {
  ChatRequest request;
  ChatTask task;
  ChatAnswerShape shape;
};

Status CheckChat(ApiCall& call, Chat& chat) {
  ChatRequest& request = chat.request;
  ChatJob& job = chat.task.job;
  job.names.Add("prompt", "messages");
  QUIRE_ASSIGN_OR_RETURN(chat.shape.has_logprobs, ReadCounts(request, job.names));
  QUIRE_ASSIGN_OR_RETURN(chat.shape.delivery,
                         ReadCommon(call, request.common, request.sampling, job.names));
  const ToolFields tools{request.tools.value, request.tool_choice.value,
                         request.parallel_tool_calls};
  QUIRE_ASSIGN_OR_RETURN(job.tools, PlanTools(call, tools, request.sampling, job.names));
  return {};
}

// Fills in what comes of the request, whose fields are checked.
void MakeTask(ApiCall& call, Chat& chat) {
  ChatRequest& request = chat.request;
  ChatJob& job = chat.task.job;
  if (NeedsSpecialTokens(call.state, job.tools)) request.sampling.skip_special_tokens = false;
  ReadLastMessage(call.state, request, chat.shape);
  job.head = MakeReplyHead(call, "chatcmpl-", request.common.request_id);
  job.api = "chat_completions";
  job.is_stream = chat.shape.delivery.is_stream;
  job.include_reasoning = request.include_reasoning;
  job.wants_prompt_text = request.return_prompt_text.value_or(false);
  job.add_special_tokens = request.chat.add_special_tokens;
  chat.shape.num_choices = static_cast<std::size_t>(std::clamp(request.sampling.n, 1, kMaxOutputs));
  chat.task.prompt = PromptOf(request, job.tools.shows_tools);
  WarnOfUnread(call, chat.task.prompt, "reasoning_effort");
  chat.task.input = InputOf(call.state, request.common, request.sampling);
}

Status ReadChat(ApiCall& call, Json& body, Chat& chat) {
  chat.request.sampling = call.engine->sampling_defaults();
  chat.request.sampling.max_tokens.reset();
  QUIRE_RETURN_IF_ERROR(ReadRequest(call, body, chat.request));
  QUIRE_RETURN_IF_ERROR(chat.task.job.names.Translate(CheckChat(call, chat)));
  MakeTask(call, chat);
  return {};
}

// The chats of a batch, each as a prompt of its own.
Status ReadBatch(Chat& chat, std::vector<ChatPrompt>& prompts) {
  Json all = std::move(chat.task.prompt.messages);
  chat.task.prompt.messages = Json();
  if (!all.is_array() || all.array().empty() || all.array().size() > kMaxPrompts) {
    return InvalidArgument(StrCat("messages: must be a list of 1 to ", kMaxPrompts, " chats"));
  }
  for (std::size_t i = 0; i < all.array().size(); ++i) {
    if (!all.array()[i].is_array()) {
      return InvalidArgument(
          StrCat("messages[", i, "]: must be a list of messages, got ", all.array()[i].kind()));
    }
    prompts.push_back(chat.task.prompt);
    prompts.back().messages = std::move(all.array()[i]);
  }
  if (prompts.size() * chat.shape.num_choices > static_cast<std::size_t>(kMaxOutputs)) {
    return InvalidArgument(StrCat("n: ", prompts.size(), " chats of ", chat.shape.num_choices,
                                  " outputs are more than the ", kMaxOutputs, " of a request"));
  }
  return {};
}

// `input`, whose refusals name the chat of a batch.
PromptInput NamedInput(PromptInput input, std::size_t chat_idx) {
  input.prepare = [prepare = std::move(input.prepare), chat_idx](PromptInput& self) {
    FieldNames names;
    names.Add("messages", StrCat("messages[", chat_idx, "]"));
    return names.Translate(prepare(self));
  };
  return input;
}

void Start(ApiCall call, Chat chat, std::vector<PromptInput> inputs) {
  const std::string id = chat.task.job.head.id;
  const std::shared_ptr<HttpReply> reply = call.reply;
  const PromptPlace place{call.engine, &call.state.live_ids, reply.get()};
  StartPrompts(place, chat.request.common, id, std::move(inputs),
               MakeChatListener(std::move(call), std::move(chat.task.job), std::move(chat.shape)));
}

// The request that was rendered, or what stands for it where that is not told.
Status ReadRenderedChat(ApiCall& call, DerenderChatRequest& request, Chat& chat) {
  if (!request.chat_request.is_given()) {
    chat.task.job.is_plain = true;
    chat.task.job.head = MakeReplyHead(call, "chatcmpl-", std::nullopt);
    chat.shape.role = call.state.options.response_role;
    return {};
  }
  const Status read = ReadChat(call, request.chat_request.value, chat);
  if (!read.ok()) return UnderPath("chat_request", read);
  const Status valid = chat.task.input.sampling.Validate(
      static_cast<int>(call.engine->facts().vocab_size), kAllLogprobs);
  if (!valid.ok()) return UnderPath("chat_request", chat.task.job.names.Translate(valid));
  chat.shape.delivery.is_stream = chat.task.job.is_stream = false;
  return {};
}

// How the prompt ended tells whether it opened the reasoning.
Status KeepPromptEnd(ApiCall& call, const DerenderChatRequest& request, Chat& chat) {
  ChatJob& job = chat.task.job;
  if (job.is_plain) return {};
  const std::string_view marker = MarkerInFinalMessage(call.state, chat.task.prompt);
  Result<std::string> text = request.prompt_token_ids.empty()
                                 ? call.state.templates.Render(std::move(chat.task.prompt))
                                 : call.engine->tokenizer().Decode(request.prompt_token_ids,
                                                                   {.skip_special_tokens = false});
  if (!text.ok()) return UnderPath("chat_request", job.names.Translate(text.status()));
  KeepOfPrompt(*text, marker, job.wants_prompt_text, *job.rendered);
  return {};
}

Status DerenderChat(ApiCall& call, DerenderChatRequest& request) {
  QUIRE_RETURN_IF_ERROR(CheckDerender(call, request.prompt_token_ids));
  Chat chat;
  QUIRE_RETURN_IF_ERROR(ReadRenderedChat(call, request, chat));
  QUIRE_RETURN_IF_ERROR(KeepPromptEnd(call, request, chat));
  ChatJob& job = chat.task.job;
  if (request.prompt_token_ids.empty()) job.num_prompt_tokens = request.prompt_tokens;
  QUIRE_ASSIGN_OR_RETURN(
      Generated generated,
      ReadGenerated(call, request.generate_response.value, "generate_response",
                    chat.task.input.sampling, std::move(request.prompt_token_ids)));
  if (generated.output.prompt_token_ids.empty() && !generated.output.prompt_logprobs.empty()) {
    return InvalidArgument(
        "prompt_token_ids: are needed where the generate_response has prompt_logprobs");
  }
  if (!generated.request_id.empty()) job.head.id = generated.request_id;
  if (job.is_plain) chat.shape.has_logprobs = generated.has_logprobs;
  chat.shape.num_choices = generated.output.outputs.size();
  const auto listener = MakeChatListener(std::move(call), std::move(job), std::move(chat.shape));
  listener->Hear(0, std::move(generated.output));
  listener->Finish();
  return {};
}

}  // namespace

Status HandleChat(ApiCall call, Json body) {
  Chat chat;
  QUIRE_RETURN_IF_ERROR(ReadChat(call, body, chat));
  std::vector<PromptInput> inputs;
  inputs.push_back(ChatInput(call.state, chat.task));
  Start(std::move(call), std::move(chat), std::move(inputs));
  return {};
}

Status HandleChatRender(ApiCall call, Json body) {
  Chat chat;
  QUIRE_RETURN_IF_ERROR(ReadChat(call, body, chat));
  return RenderChat(std::move(call), std::move(chat.task), ErrorResponse);
}

Status HandleChatDerender(ApiCall call, Json body) {
  const auto request = std::make_shared<DerenderChatRequest>();
  QUIRE_RETURN_IF_ERROR(ReadRequest(call, body, *request));
  QUIRE_RETURN_IF_ERROR(CheckModel(call.state, request->model));
  QUIRE_RETURN_IF_ERROR(CheckPromptTokens(call, request->prompt_tokens));
  const std::size_t num_bytes = call.request->body.size();
  return RunTokenizing(
      std::move(call), num_bytes, [request](ApiCall& self) { return DerenderChat(self, *request); },
      ErrorResponse);
}

Status HandleChatBatch(ApiCall call, Json body) {
  Chat chat;
  QUIRE_RETURN_IF_ERROR(ReadChat(call, body, chat));
  if (chat.shape.delivery.is_stream) return InvalidArgument("stream: a batch cannot be streamed");
  if (chat.task.job.tools.shows_tools) return InvalidArgument("tools: a batch can have none");
  std::vector<ChatPrompt> prompts;
  QUIRE_RETURN_IF_ERROR(ReadBatch(chat, prompts));
  std::vector<PromptInput> inputs;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    ChatTask task{.job = chat.task.job, .prompt = {}, .input = chat.task.input};
    task.job.rendered = std::make_shared<RenderedChat>();
    if (i > 0) chat.task.job.more_rendered.push_back(task.job.rendered);
    if (i == 0) chat.task.job.rendered = task.job.rendered;
    task.prompt = std::move(prompts[i]);
    inputs.push_back(NamedInput(ChatInput(call.state, task), i));
  }
  Start(std::move(call), std::move(chat), std::move(inputs));
  return {};
}

}  // namespace quire
