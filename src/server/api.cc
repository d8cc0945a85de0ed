#include "server/api.h"

#include <array>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "server/anthropic.h"
#include "server/api_error.h"
#include "server/api_state.h"
#include "server/generate_tokens.h"
#include "server/openai_chat.h"
#include "server/openai_completions.h"
#include "server/openai_models.h"
#include "server/openapi.h"
#include "server/responses.h"
#include "server/tokenize.h"

namespace quire {
namespace {

constexpr std::size_t kMaxQueuedWork = 256;

using PlainHandler = void (*)(ApiState& state, const HttpRequest& request,
                              const std::shared_ptr<HttpReply>& reply);

HttpHandler Plain(ApiState& state, PlainHandler handler) {
  return [&state, handler](const std::shared_ptr<const HttpRequest>& request,
                           const std::shared_ptr<HttpReply>& reply) {
    handler(state, *request, reply);
  };
}

HttpHandler Text(std::string content_type, std::string body) {
  return [content_type = std::move(content_type), body = std::move(body)](
             const std::shared_ptr<const HttpRequest>& /*request*/,
             const std::shared_ptr<HttpReply>& reply) {
    HttpResponse response;
    response.content_type = content_type;
    response.body = body;
    reply->Send(std::move(response));
  };
}

// What a pooling model would answer.
constexpr std::array<std::string_view, 13> kPoolingPaths = {
    "/v1/embeddings",     "/v2/embed", "/embeddings", "/pooling",   "/classify",    "/score",
    "/v1/score",          "/rerank",   "/v1/rerank",  "/v2/rerank", "/v1/classify", "/v1/pooling",
    "/generative_scoring"};
constexpr std::array<std::string_view, 2> kAudioPaths = {"/v1/audio/transcriptions",
                                                         "/v1/audio/translations"};

void AddRefused(std::vector<Route>& routes, std::string_view path, std::string_view why) {
  routes.push_back({.method = "POST",
                    .path = std::string(path),
                    .access = Access::kKey,
                    .handler = [why](const std::shared_ptr<const HttpRequest>& request,
                                     const std::shared_ptr<HttpReply>& reply) {
                      reply->Send(ErrorResponse(404, StrCat(request->path, " ", why), "model"));
                    }});
}

// A chat where the body has messages, else a completion.
Status HandleInvocation(ApiCall call, Json body) {
  if (body.Find("messages") != nullptr) return HandleChat(std::move(call), std::move(body));
  if (body.Find("prompt") != nullptr) return HandleCompletion(std::move(call), std::move(body));
  return InvalidArgument("body: must have messages, for a chat, or prompt, for a completion");
}

Status CheckOptions(const ApiOptions& options) {
  if (options.served_model_names.empty()) {
    return InvalidArgument("served-model-name: must hold at least one name");
  }
  for (const std::string& name : options.served_model_names) {
    if (name.empty()) return InvalidArgument("served-model-name: must not be empty");
  }
  return {};
}

Status FindParsers(ApiState& state) {
  const ApiOptions& options = state.options;
  const ChatTemplates& templates = state.templates;
  if (!options.tool_call_parser.empty()) {
    auto format = FindToolFormat(options.tool_call_parser, templates.tool_source());
    if (!format.ok()) return format.status();
    state.tools = *format;
    if (state.tools == nullptr) {  // the format that most models know
      QUIRE_ASSIGN_OR_RETURN(state.tools, FindToolFormat("hermes", {}));
      state.tools_are_guessed = true;
    }
  }
  if (!options.reasoning_parser.empty()) {
    auto format = FindReasoningFormat(options.reasoning_parser, templates.source());
    if (!format.ok()) return format.status();
    state.reasoning = *format;
  }
  return {};
}

}  // namespace

struct Api::State : ApiState {};

Api::Api(std::unique_ptr<State> state) : state_(std::move(state)) {}
Api::~Api() = default;

Result<std::unique_ptr<Api>> Api::Create(ApiOptions options, EngineSource engine) {
  QUIRE_RETURN_IF_ERROR(CheckOptions(options));
  auto state = std::make_unique<State>();
  state->options = std::move(options);
  state->engine = std::move(engine);
  state->fingerprint = StrCat("quire-", state->options.version);
  state->created = UnixSeconds();
  const std::shared_ptr<AsyncEngine> serving = state->engine();
  if (serving == nullptr) return Status(Code::kUnavailable, "there is no engine yet");
  const Tokenizer* tokenizer = serving->has_tokenizer() ? &serving->tokenizer() : nullptr;
  QUIRE_ASSIGN_OR_RETURN(state->templates, ChatTemplates::Load(state->options, tokenizer));
  QUIRE_RETURN_IF_ERROR(FindParsers(*state));
  state->responses = std::make_unique<ResponseStore>(state->options.max_stored_responses,
                                                     state->options.max_stored_response_bytes);
  state->work = std::make_unique<WorkPool>(state->options.num_threads, kMaxQueuedWork);
  state->tokenizing = std::make_unique<WorkPool>(state->options.num_threads, kMaxQueuedWork);
  return std::unique_ptr<Api>(new Api(std::move(state)));
}

std::vector<Route> Api::Routes() {
  ApiState& state = *state_;
  std::vector<Route> routes;
  const auto add = [&](const char* method, const char* path, HttpHandler handler) {
    routes.push_back(
        {.method = method, .path = path, .access = Access::kKey, .handler = std::move(handler)});
  };
  const auto json = [&](const char* path, JsonHandler handler, Refusal refusal) {
    add("POST", path, WithJson(state, std::move(handler), refusal));
  };
  Refusal const openai = ErrorResponse;
  json("/v1/completions", HandleCompletion, openai);
  json("/v1/completions/render", HandleCompletionRender, openai);
  json("/v1/chat/completions", HandleChat, openai);
  json("/v1/chat/completions/render", HandleChatRender, openai);
  json("/v1/completions/derender", HandleCompletionDerender, openai);
  json("/v1/chat/completions/derender", HandleChatDerender, openai);
  json("/v1/chat/completions/batch", HandleChatBatch, openai);
  json("/v1/responses", HandleResponse, openai);
  json("/v1/responses/render", HandleResponseRender, openai);
  json("/invocations", HandleInvocation, openai);
  json("/inference/v1/generate", HandleGenerate, openai);
  json("/tokenize", HandleTokenize, openai);
  json("/detokenize", HandleDetokenize, openai);
  json("/v1/messages", HandleMessages, AnthropicErrorResponse);
  json("/v1/messages/render", HandleMessagesRender, AnthropicErrorResponse);
  json("/v1/messages/count_tokens", HandleCountTokens, AnthropicErrorResponse);
  add("GET", "/v1/models", Plain(state, HandleModels));
  add("GET", "/v1/models/{model:path}", Plain(state, HandleModel));  // names may have slashes
  add("GET", "/v1/responses/{response_id}", Plain(state, HandleGetResponse));
  add("POST", "/v1/responses/{response_id}/cancel", Plain(state, HandleCancelResponse));
  for (const std::string_view path : kPoolingPaths) {
    AddRefused(routes, path, "needs a pooling model, and the one served here generates text");
  }
  for (const std::string_view path : kAudioPaths) {
    AddRefused(routes, path, "needs a speech model, and the one served here generates text");
  }
  if (state.options.enable_docs) {
    add("GET", "/openapi.json", Text("application/json", OpenApiJson(state.options.version)));
    add("GET", "/docs", Text("text/html; charset=utf-8", DocsPage()));
    add("GET", "/redoc", Text("text/html; charset=utf-8", DocsPage()));
  }
  return routes;
}

}  // namespace quire
