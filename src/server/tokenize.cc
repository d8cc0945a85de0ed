#include "server/tokenize.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "server/api_error.h"
#include "server/common_request.h"
#include "server/completion_prompts.h"
#include "server/completion_request.h"
#include "server/json_text.h"
#include "server/logprob_text.h"
#include "server/openai_chat.h"
#include "server/reply_parts.h"
#include "server/tokenize_request.h"
#include "server/tool_plan.h"

namespace quire {
namespace {

Status NeedsTokenizer(const ApiCall& call) {
  if (call.engine->has_tokenizer()) return {};
  return InvalidArgument("prompt: the model has no tokenizer");
}

// Runs `work` beside the socket's thread where the text is long.
Status Later(ApiCall call, std::size_t num_bytes, std::function<Status(ApiCall&)> work) {
  ApiState& state = call.state;
  const std::shared_ptr<HttpReply> reply = call.reply;
  const auto shared = std::make_shared<ApiCall>(std::move(call));
  RunSized(
      state, num_bytes, reply, [shared, work = std::move(work)] { return work(*shared); },
      ErrorResponse);
  return {};
}

Status SendTokens(ApiCall& call, const std::vector<TokenId>& ids, bool with_strings) {
  const Tokenizer& tokenizer = call.engine->tokenizer();
  std::string out = R"({"count":)";
  AppendInt(out, static_cast<std::int64_t>(ids.size()));
  out += R"(,"max_model_len":)";
  AppendInt(out, call.engine->decisions().plan.max_model_len);
  out += R"(,"tokens":)";
  AppendIds(out, ids);
  out += R"(,"token_strs":)";
  if (with_strings) {
    out += '[';
    for (const TokenId id : ids) {
      if (out.back() == '"') out += ',';
      AppendJsonString(out, tokenizer.TokenText(id));
    }
    out += ']';
  } else {
    out += "null";
  }
  out += '}';
  SendJson(call, std::move(out));
  return {};
}

Result<std::vector<TokenId>> Encode(const ApiCall& call, const std::string& text,
                                    bool add_special_tokens) {
  Result<std::vector<TokenId>> ids = call.engine->tokenizer().Encode(
      text, {.add_special_tokens = add_special_tokens, .parse_special = true});
  if (!ids.ok()) return ids.status().With("prompt");
  return ids;
}

void AppendSampling(std::string& out, const SamplingParams& sampling) {
  out += R"("sampling_params":{"n":)";
  AppendInt(out, sampling.n);
  out += R"(,"max_tokens":)";
  if (sampling.max_tokens) {
    AppendInt(out, *sampling.max_tokens);
  } else {
    out += "null";
  }
  out += R"(,"temperature":)" + Json(sampling.temperature).Dump();
  out += R"(,"top_p":)" + Json(sampling.top_p).Dump();
  out += R"(,"top_k":)" + Json(sampling.top_k).Dump() + "}";
}

void AppendRendered(std::string& out, const ReplyHead& head, const std::vector<TokenId>& ids,
                    const SamplingParams& sampling) {
  out += R"({"request_id":)";
  AppendJsonString(out, head.id);
  out += R"(,"model":)";
  AppendJsonString(out, head.model);
  out += R"(,"token_ids":)";
  AppendIds(out, ids);
  out += ',';
  AppendSampling(out, sampling);
}

}  // namespace

Status HandleTokenize(ApiCall call, Json body) {
  TokenizeRequest request;
  QUIRE_RETURN_IF_ERROR(ReadRequest(call, body, request));
  QUIRE_RETURN_IF_ERROR(CheckModel(call.state, request.model));
  QUIRE_RETURN_IF_ERROR(NeedsTokenizer(call));
  if (request.prompt.has_value() == request.messages.is_given()) {
    return InvalidArgument("prompt: either this or messages is required, and not both");
  }
  const bool with_strings = request.return_token_strs.value_or(false);
  if (request.prompt) {
    const bool adds = request.add_special_tokens.value_or(true);
    const std::size_t num_bytes = request.prompt->size();
    return Later(std::move(call), num_bytes,
                 [text = *std::move(request.prompt), adds, with_strings](ApiCall& self) -> Status {
                   QUIRE_ASSIGN_OR_RETURN(const auto ids, Encode(self, text, adds));
                   return SendTokens(self, ids, with_strings);
                 });
  }
  ChatRequest chat;
  chat.messages.value = std::move(request.messages.value);
  chat.tools.value = std::move(request.tools.value);
  chat.chat = std::move(request.chat);
  const auto prompt = std::make_shared<ChatPrompt>(ChatPromptOf(chat, true));
  const bool adds = request.add_special_tokens.value_or(false);
  const std::size_t num_bytes = call.request->body.size();
  return Later(std::move(call), num_bytes, [prompt, adds, with_strings](ApiCall& self) -> Status {
    QUIRE_ASSIGN_OR_RETURN(const std::string text, self.state.templates.Render(std::move(*prompt)));
    QUIRE_ASSIGN_OR_RETURN(const auto ids, Encode(self, text, adds));
    return SendTokens(self, ids, with_strings);
  });
}

Status HandleDetokenize(ApiCall call, Json body) {
  DetokenizeRequest request;
  QUIRE_RETURN_IF_ERROR(ReadRequest(call, body, request));
  QUIRE_RETURN_IF_ERROR(CheckModel(call.state, request.model));
  QUIRE_RETURN_IF_ERROR(NeedsTokenizer(call));
  if (!request.tokens) return InvalidArgument("tokens: is required");
  const Tokenizer& tokenizer = call.engine->tokenizer();
  for (const TokenId id : *request.tokens) {
    if (id < 0 || id >= call.engine->facts().vocab_size) {
      return InvalidArgument(StrCat("tokens: id ", id, " is outside the vocabulary"));
    }
  }
  std::string out = R"({"prompt":)";
  AppendJsonString(out, tokenizer.Decode(*request.tokens, {.skip_special_tokens = false}));
  out += '}';
  SendJson(call, std::move(out));
  return {};
}

Status HandleChatRender(ApiCall call, Json body) {
  ChatRequest request;
  request.sampling = call.engine->sampling_defaults();
  request.sampling.max_tokens.reset();
  QUIRE_RETURN_IF_ERROR(ReadRequest(call, body, request));
  QUIRE_ASSIGN_OR_RETURN(const Delivery delivery,
                         ReadCommon(call, request.common, request.sampling));
  static_cast<void>(delivery);
  QUIRE_RETURN_IF_ERROR(NeedsTokenizer(call));
  QUIRE_ASSIGN_OR_RETURN(const ToolPlan plan,
                         PlanTools(call.state, request.tools.value, request.tool_choice.value,
                                   request.parallel_tool_calls, request.sampling));
  const auto prompt = std::make_shared<ChatPrompt>(ChatPromptOf(request, plan.shows_tools));
  const ReplyHead head = MakeReplyHead(call, "chatcmpl-", request.common.request_id);
  const std::size_t num_bytes = call.request->body.size();
  return Later(std::move(call), num_bytes,
               [prompt, head, adds = request.chat.add_special_tokens,
                sampling = request.sampling](ApiCall& self) -> Status {
                 QUIRE_ASSIGN_OR_RETURN(const std::string text,
                                        self.state.templates.Render(std::move(*prompt)));
                 QUIRE_ASSIGN_OR_RETURN(const auto ids, Encode(self, text, adds));
                 std::string out;
                 AppendRendered(out, head, ids, sampling);
                 out += R"(,"prompt_text":)";
                 AppendJsonString(out, text);
                 out += '}';
                 SendJson(self, std::move(out));
                 return {};
               });
}

Status HandleCompletionRender(ApiCall call, Json body) {
  CompletionRequest request;
  request.sampling = call.engine->sampling_defaults();
  QUIRE_RETURN_IF_ERROR(ReadRequest(call, body, request));
  QUIRE_ASSIGN_OR_RETURN(const Delivery delivery,
                         ReadCommon(call, request.common, request.sampling));
  static_cast<void>(delivery);
  QUIRE_ASSIGN_OR_RETURN(std::vector<CompletionPrompt> prompts, ReadPrompts(request.prompt.value));
  const auto shared = std::make_shared<std::vector<CompletionPrompt>>(std::move(prompts));
  const ReplyHead head = MakeReplyHead(call, "cmpl-", request.common.request_id);
  const std::size_t num_bytes = call.request->body.size();
  return Later(std::move(call), num_bytes,
               [shared, head, adds = request.add_special_tokens,
                sampling = request.sampling](ApiCall& self) -> Status {
                 std::string out = "[";
                 for (CompletionPrompt& prompt : *shared) {
                   if (!prompt.ids) {
                     QUIRE_RETURN_IF_ERROR(NeedsTokenizer(self));
                     QUIRE_ASSIGN_OR_RETURN(prompt.ids, Encode(self, prompt.text, adds));
                   }
                   if (out.back() == '}') out += ',';
                   AppendRendered(out, head, *prompt.ids, sampling);
                   out += '}';
                 }
                 out += ']';
                 SendJson(self, std::move(out));
                 return {};
               });
}

}  // namespace quire
