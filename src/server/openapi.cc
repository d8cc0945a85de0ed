#include "server/openapi.h"

#include <utility>

#include "formats/json.h"
#include "server/chat_request.h"
#include "server/completion_request.h"
#include "server/derender_request.h"
#include "server/generate_request.h"
#include "server/messages_request.h"
#include "server/responses_request.h"
#include "server/schema_writer.h"
#include "server/tokenize_request.h"

namespace quire {
namespace {

template <typename Request>
Json SchemaOf() {
  Request request;
  SchemaWriter writer;
  VisitFields(request, writer);
  return std::move(writer).Take();
}

Json ErrorSchema() {
  const auto typed = [](const char* type) { return Json(JsonObject{{"type", Json(type)}}); };
  Json error;
  error["type"] = Json("object");
  error["properties"]["message"] = typed("string");
  error["properties"]["type"] = typed("string");
  error["properties"]["param"]["type"] = Json(JsonArray{Json("string"), Json("null")});
  error["properties"]["code"] = typed("integer");
  Json schema;
  schema["type"] = Json("object");
  schema["properties"]["error"] = std::move(error);
  schema["required"] = Json(JsonArray{Json("error")});
  return schema;
}

Json Schemas() {
  Json schemas;
  schemas["CompletionRequest"] = SchemaOf<CompletionRequest>();
  schemas["ChatCompletionRequest"] = SchemaOf<ChatRequest>();
  schemas["ResponsesRequest"] = SchemaOf<ResponsesRequest>();
  schemas["AnthropicMessagesRequest"] = SchemaOf<MessagesRequest>();
  schemas["AnthropicCountTokensRequest"] = SchemaOf<CountTokensRequest>();
  schemas["DerenderCompletionRequest"] = SchemaOf<DerenderCompletionRequest>();
  schemas["DerenderChatRequest"] = SchemaOf<DerenderChatRequest>();
  schemas["GenerateRequest"] = SchemaOf<GenerateRequest>();
  schemas["TokenizeRequest"] = SchemaOf<TokenizeRequest>();
  schemas["DetokenizeRequest"] = SchemaOf<DetokenizeRequest>();
  schemas["ErrorResponse"] = ErrorSchema();
  return schemas;
}

Json Reference(std::string_view name) {
  Json schema;
  schema["$ref"] = Json("#/components/schemas/" + std::string(name));
  return schema;
}

Json Content(Json schema) {
  Json content;
  content["application/json"]["schema"] = std::move(schema);
  return content;
}

// The names in braces.
Json PathParameters(std::string_view path) {
  JsonArray parameters;
  for (std::size_t open = path.find('{'); open != std::string_view::npos;
       open = path.find('{', open + 1)) {
    Json parameter;
    parameter["name"] = Json(path.substr(open + 1, path.find('}', open) - open - 1));
    parameter["in"] = Json("path");
    parameter["required"] = Json(true);
    parameter["schema"]["type"] = Json("string");
    parameters.push_back(std::move(parameter));
  }
  return Json(std::move(parameters));
}

Json Operation(const RouteDoc& doc) {
  Json operation;
  operation["summary"] = Json(doc.summary);
  if (Json parameters = PathParameters(doc.path); !parameters.array().empty()) {
    operation["parameters"] = std::move(parameters);
  }
  if (!doc.request.empty()) {
    operation["requestBody"]["required"] = Json(true);
    operation["requestBody"]["content"] = Content(Reference(doc.request));
  }
  Json& responses = operation["responses"];
  responses["200"]["description"] = Json("The answer");
  for (const char* status : {"4XX", "5XX"}) {
    responses[status]["description"] = Json("Why there is no answer");
    responses[status]["content"] = Content(Reference("ErrorResponse"));
  }
  return operation;
}

std::string LowerMethod(std::string_view method) { return method == "GET" ? "get" : "post"; }

}  // namespace

const std::vector<RouteDoc>& RouteDocs() {
  static const std::vector<RouteDoc>& docs = *new std::vector<RouteDoc>{
      {"GET", "/v1/models", "The models that are served", ""},
      {"GET", "/v1/models/{model}", "One of them", ""},
      {"POST", "/v1/completions", "Go on with a text", "CompletionRequest"},
      {"POST", "/v1/completions/render", "The prompts of a completion as token ids",
       "CompletionRequest"},
      {"POST", "/v1/completions/derender", "A completion out of generated token ids",
       "DerenderCompletionRequest"},
      {"POST", "/v1/chat/completions", "Answer a chat", "ChatCompletionRequest"},
      {"POST", "/v1/chat/completions/render", "The prompt of a chat as text and token ids",
       "ChatCompletionRequest"},
      {"POST", "/v1/chat/completions/derender", "The answer to a chat out of generated token ids",
       "DerenderChatRequest"},
      {"POST", "/v1/chat/completions/batch",
       "Answer several chats at once: messages is a list of chats", ""},
      {"POST", "/v1/responses", "Answer a chat; the answer is kept", "ResponsesRequest"},
      {"POST", "/v1/responses/render", "The prompt of such a chat as text and token ids",
       "ResponsesRequest"},
      {"GET", "/v1/responses/{response_id}", "A kept answer", ""},
      {"POST", "/v1/responses/{response_id}/cancel", "End an answer in the background", ""},
      {"POST", "/v1/messages", "Answer a chat, in Anthropic's dialect", "AnthropicMessagesRequest"},
      {"POST", "/v1/messages/render", "The prompt of such a chat as text and token ids",
       "AnthropicMessagesRequest"},
      {"POST", "/v1/messages/count_tokens", "How many tokens such a chat has",
       "AnthropicCountTokensRequest"},
      {"POST", "/invocations",
       "A chat where the body has messages, a completion where it has a prompt", ""},
      {"POST", "/inference/v1/generate", "Go on with token ids, in token ids", "GenerateRequest"},
      {"POST", "/tokenize", "A text or a chat as token ids", "TokenizeRequest"},
      {"POST", "/detokenize", "Token ids as text", "DetokenizeRequest"},
      {"GET", "/load", "Requests under way", ""},
      {"GET", "/health", "Whether a request would be served", ""},
      {"GET", "/ping", "The same", ""},
      {"POST", "/ping", "The same", ""},
      {"GET", "/version", "The program's version", ""},
      {"GET", "/metrics", "Numbers for Prometheus", ""}};
  return docs;
}

std::string OpenApiJson(std::string_view version) {
  Json document;
  document["openapi"] = Json("3.1.0");
  document["info"]["title"] = Json("Quire");
  document["info"]["version"] = Json(version.empty() ? "0" : version);
  for (const RouteDoc& doc : RouteDocs()) {
    document["paths"][doc.path][LowerMethod(doc.method)] = Operation(doc);
  }
  Json& components = document["components"];
  components["schemas"] = Schemas();
  components["securitySchemes"]["key"]["type"] = Json("http");
  components["securitySchemes"]["key"]["scheme"] = Json("bearer");
  return document.Dump();
}

}  // namespace quire
