#include "server/tokenize.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "server/api_error.h"
#include "server/chat_job.h"
#include "server/common_request.h"
#include "server/json_text.h"
#include "server/logprob_text.h"
#include "server/render.h"
#include "server/tokenize_request.h"
#include "server/tool_plan.h"

namespace quire {
namespace {

constexpr int kMaxDetokenizedIds = 1 << 18;  // where the context is no longer

Status NeedsTokenizer(const ApiCall& call) {
  if (call.engine->has_tokenizer()) return {};
  return InvalidArgument("prompt: the model has no tokenizer");
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

// What says how a chat is rendered says nothing of a text.
std::vector<std::string> ChatFieldsOf(const Json& body) {
  TokenizeRequest request;
  NameCollector names;
  VisitFields(request.chat, names);
  std::vector<std::string> given;
  for (const std::string& name : names.names()) {
    const Json* value = body.Find(name);
    if (name != "add_special_tokens" && value != nullptr && !value->is_null()) {
      given.push_back(name);
    }
  }
  if (const Json* tools = body.Find("tools"); tools != nullptr && !tools->is_null()) {
    given.emplace_back("tools");
  }
  return given;
}

}  // namespace

Status HandleTokenize(ApiCall call, Json body) {
  TokenizeRequest request;
  const std::vector<std::string> chat_fields = ChatFieldsOf(body);
  QUIRE_RETURN_IF_ERROR(ReadRequest(call, body, request));
  QUIRE_RETURN_IF_ERROR(CheckModel(call.state, request.model));
  QUIRE_RETURN_IF_ERROR(NeedsTokenizer(call));
  if (request.prompt.has_value() == request.messages.is_given()) {
    return InvalidArgument("prompt: either this or messages is required, and not both");
  }
  const bool with_strings = request.return_token_strs.value_or(false);
  if (request.prompt) {
    WarnOf(call, "fields that have an effect with messages only", chat_fields);
    const bool adds = request.add_special_tokens.value_or(true);
    const std::size_t num_bytes = request.prompt->size();
    return RunTokenizing(
        std::move(call), num_bytes,
        [text = *std::move(request.prompt), adds, with_strings](ApiCall& self) -> Status {
          QUIRE_ASSIGN_OR_RETURN(const auto ids, Tokenize(self, text, adds, "prompt"));
          return SendTokens(self, ids, with_strings);
        },
        ErrorResponse);
  }
  const auto prompt = std::make_shared<ChatPrompt>();
  prompt->messages = std::move(request.messages.value);
  prompt->tools = std::move(request.tools.value);
  TakeTemplateFields(request.chat, *prompt);
  WarnOfTools(call, prompt->tools);
  WarnOfUnread(call, *prompt, {});
  const bool adds = request.add_special_tokens.value_or(false);
  const std::size_t num_bytes = call.request->body.size();
  return RunTokenizing(
      std::move(call), num_bytes,
      [prompt, adds, with_strings](ApiCall& self) -> Status {
        QUIRE_ASSIGN_OR_RETURN(const std::string text,
                               self.state.templates.Render(std::move(*prompt)));
        QUIRE_ASSIGN_OR_RETURN(const auto ids, Tokenize(self, text, adds, "messages"));
        return SendTokens(self, ids, with_strings);
      },
      ErrorResponse);
}

Status HandleDetokenize(ApiCall call, Json body) {
  DetokenizeRequest request;
  QUIRE_RETURN_IF_ERROR(ReadRequest(call, body, request));
  QUIRE_RETURN_IF_ERROR(CheckModel(call.state, request.model));
  QUIRE_RETURN_IF_ERROR(NeedsTokenizer(call));
  if (!request.tokens) return InvalidArgument("tokens: is required");
  const auto max_ids = static_cast<std::size_t>(
      std::max(kMaxDetokenizedIds, call.engine->decisions().plan.max_model_len));
  if (request.tokens->size() > max_ids) {
    return InvalidArgument(
        StrCat("tokens: must be at most ", max_ids, " ids, got ", request.tokens->size()));
  }
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

}  // namespace quire
