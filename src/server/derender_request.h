// The bodies of POST /v1/chat/completions/derender and /v1/completions/derender.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "server/request_fields.h"

namespace quire {

// An answer of POST /inference/v1/generate.
struct GeneratedSchema {
  static constexpr std::string_view kText =
      R"({"type":"object","properties":{"request_id":{"type":["string","null"]},"model":{},)"
      R"("created":{},"choices":{"type":"array","items":{"type":"object","properties":)"
      R"({"index":{"type":"integer"},"logprobs":{"type":["object","null"]},)"
      R"("finish_reason":{"type":["string","null"]},)"
      R"("token_ids":{"type":["array","null"],"items":{"type":"integer"}},)"
      R"("routed_experts":{}}}},"usage":{},"prompt_logprobs":{"type":["array","null"]},)"
      R"("kv_transfer_params":{},"ec_transfer_params":{}},"required":["choices"]})";
};
struct GeneratedListSchema {
  static constexpr std::string_view kText =
      R"({"type":"array","minItems":1,"items":{"type":"object","properties":{"request_id":{},)"
      R"("model":{},"created":{},"choices":{"type":"array","items":{"type":"object",)"
      R"("properties":{"index":{},"logprobs":{},"finish_reason":{},"token_ids":{},)"
      R"("routed_experts":{}}}},"usage":{},"prompt_logprobs":{},"kv_transfer_params":{},)"
      R"("ec_transfer_params":{}},"required":["choices"]}})";
};

// What a derender request is not: a piece of a stream.
template <typename Visitor>
void VisitUnstreamed(Visitor&& visit) {
  visit("stream", RefusedField{.neutral = "false"}, "Only whole answers are taken");
  visit("generate_chunk", RefusedField(), "Not served");
  visit("stream_state", RefusedField(), "Not served");
}

struct DerenderChatRequest {
  std::optional<std::string> model;
  Required<JsonFieldOf<GeneratedSchema>> generate_response;
  std::int64_t prompt_tokens = 0;
  std::vector<TokenId> prompt_token_ids;
  JsonFieldOf<ObjectSchema> chat_request;
};

template <typename Visitor>
void VisitFields(DerenderChatRequest& r, Visitor&& visit) {
  visit("model", r.model, "A name under which the model is served");
  visit("generate_response", r.generate_response, "An answer of /inference/v1/generate");
  visit("prompt_tokens", r.prompt_tokens, "How many tokens the prompt had, for the usage");
  visit("prompt_token_ids", r.prompt_token_ids, "The prompt, instead of how long it was");
  visit("chat_request", r.chat_request,
        "The request that was rendered; without it the answer is all content");
  VisitUnstreamed(visit);
}

struct DerenderCompletionRequest {
  std::optional<std::string> model;
  Required<JsonFieldOf<GeneratedListSchema>> generate_responses;
  std::optional<std::vector<TokenId>> prompt_tokens;
  JsonFieldOf<ObjectSchema> completion_request;
};

template <typename Visitor>
void VisitFields(DerenderCompletionRequest& r, Visitor&& visit) {
  visit("model", r.model, "A name under which the model is served");
  visit("generate_responses", r.generate_responses,
        "Answers of /inference/v1/generate, one a prompt");
  visit("prompt_tokens", r.prompt_tokens, "How many tokens each prompt had, for the usage");
  visit("completion_request", r.completion_request, "The request that was rendered");
  VisitUnstreamed(visit);
}

}  // namespace quire
