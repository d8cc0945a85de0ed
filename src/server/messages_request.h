// The bodies of Anthropic's POST /v1/messages and /v1/messages/count_tokens.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/chat_request.h"
#include "server/request_fields.h"

namespace quire {

struct AnthropicMessagesSchema {
  static constexpr std::string_view kText =
      R"({"type":"array","minItems":1,"items":{"type":"object","properties":)"
      R"({"role":{"type":"string","enum":["user","assistant","system"]},"content":{"anyOf":)"
      R"([{"type":"string"},{"type":"array","items":{"type":"object","properties":)"
      R"({"type":{"type":"string"},"text":{"type":"string"},"citations":{},"cache_control":{},)"
      R"("source":{},"title":{},"context":{},"id":{"type":"string"},"name":{"type":"string"},)"
      R"("input":{},"caller":{},"tool_use_id":{"type":"string"},"content":{},"is_error":{},)"
      R"("thinking":{},"signature":{},"data":{}},)"
      R"("required":["type"]}}]}},"required":["role","content"]}})";
};
struct AnthropicSystemSchema {
  static constexpr std::string_view kText =
      R"({"anyOf":[{"type":"string"},{"type":"array","items":{"type":"object","properties":)"
      R"({"type":{"type":"string"},"text":{"type":"string"},"citations":{},"cache_control":{}}}},)"
      R"({"type":"null"}]})";
};
struct AnthropicToolsSchema {
  static constexpr std::string_view kText =
      R"({"type":["array","null"],"items":{"type":"object","properties":)"
      R"({"type":{"type":["string","null"]},"name":{"type":"string"},)"
      R"("description":{"type":["string","null"]},"input_schema":{"type":"object"},)"
      R"("cache_control":{},"strict":{},"defer_loading":{},"eager_input_streaming":{},)"
      R"("input_examples":{},"allowed_callers":{}},"required":["name","input_schema"]}})";
};
struct AnthropicToolChoiceSchema {
  static constexpr std::string_view kText =
      R"({"type":["object","null"],"properties":{"type":{"type":"string",)"
      R"("enum":["auto","any","tool","none"]},"name":{"type":"string"},)"
      R"("disable_parallel_tool_use":{"type":["boolean","null"]}},"required":["type"]})";
};
struct ThinkingSchema {
  static constexpr std::string_view kText =
      R"({"type":["object","null"],"properties":{"type":{"type":"string",)"
      R"("enum":["enabled","disabled","adaptive"]},"budget_tokens":{"type":["integer","null"]},)"
      R"("display":{}},)"
      R"("required":["type"]})";
};
struct OutputConfigSchema {
  static constexpr std::string_view kText =
      R"({"type":["object","null"],"properties":{"effort":{"type":["string","null"]},)"
      R"("format":{"type":["object","null"],"properties":{"type":{"type":"string"},)"
      R"("schema":{"type":"object"}}}}})";
};

// What the prompt is made of; all that counting needs.
struct CountTokensRequest {
  Required<std::string> model;
  Required<JsonFieldOf<AnthropicMessagesSchema>> messages;
  JsonFieldOf<AnthropicSystemSchema> system;
  JsonFieldOf<AnthropicToolsSchema> tools;
  JsonFieldOf<AnthropicToolChoiceSchema> tool_choice;
  JsonFieldOf<ThinkingSchema> thinking;
  JsonFieldOf<OutputConfigSchema> output_config;
  JsonFieldOf<ObjectSchema> chat_template_kwargs;
};

template <typename Visitor>
void VisitFields(CountTokensRequest& r, Visitor&& visit) {
  visit("model", r.model, "A name under which the model is served");
  visit("messages", r.messages, "The chat so far");
  visit("system", r.system, "The system message");
  visit("tools", r.tools, "Functions that the model may call");
  visit("tool_choice", r.tool_choice, "type: auto, any, tool or none");
  visit("thinking", r.thinking,
        "type: enabled or disabled, handed to the template; budget_tokens bounds the reasoning");
  visit("output_config", r.output_config, "format: json_schema; effort is handed to the template");
  visit("chat_template_kwargs", r.chat_template_kwargs, "Further variables of the template");
  visit("cache_control", AcceptedField(), "Prefixes are cached anyway");
  visit("context_management", IgnoredField(), "The chat is taken as it is");
  visit("mcp_servers", RefusedField(), "Not served");
}

// Of `thinking`, what is more than the template's affair.
struct ThinkingFields {
  std::optional<std::string> type;
  std::optional<int> budget_tokens;
};

template <typename Visitor>
void VisitFields(ThinkingFields& r, Visitor&& visit) {
  visit("type", r.type, "");
  visit("budget_tokens", r.budget_tokens, "");
}

struct MessagesRequest {
  CountTokensRequest chat;
  std::optional<int> max_tokens;
  StringList stop_sequences;
  std::optional<bool> stream;
  std::optional<double> temperature;
  std::optional<int> top_k;
  std::optional<double> top_p;
  std::optional<std::string> cache_salt;
};

template <typename Visitor>
void VisitFields(MessagesRequest& r, Visitor&& visit) {
  VisitFields(r.chat, visit);
  visit("max_tokens", r.max_tokens, "Most tokens to generate; required");
  visit("stop_sequences", r.stop_sequences, "Text at which the answer ends");
  visit("stream", r.stream, "Answer in events as it is generated");
  visit("temperature", r.temperature, "Randomness, 0 to 2; 0 takes the best token");
  visit("top_k", r.top_k, "Keep this many of the best tokens; 0: all");
  visit("top_p", r.top_p, "Keep the best tokens that reach this probability together, (0, 1]");
  visit("cache_salt", r.cache_salt, "Only requests with the same salt share cached prefixes");
  for (const char* name : {"metadata", "mm_payload", "inference_geo"}) {
    visit(name, AcceptedField(), "Without effect");
  }
  visit("service_tier", IgnoredField{.neutral = "\"auto\""}, "There is one tier");
  for (const char* name : {"container", "watermarking", "kv_transfer_params", "ec_transfer_params",
                           "return_mm_kwargs"}) {
    visit(name, RefusedField(), "Not served");
  }
  visit("vllm_xargs", kNoPlugIns, "Of plug-ins, which there are none of");
}

}  // namespace quire
