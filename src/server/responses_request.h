// The body of POST /v1/responses.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "request/sampling_params.h"
#include "server/chat_request.h"
#include "server/request_fields.h"

namespace quire {

struct ResponseInputSchema {
  static constexpr std::string_view kText =
      R"({"anyOf":[{"type":"string"},{"type":"array","items":{"type":"object","properties":)"
      R"({"type":{"type":"string"},"role":{"type":"string"},"content":{"anyOf":[{"type":"string"},)"
      R"({"type":"array","items":{"type":"object","properties":{"type":{"type":"string"},)"
      R"("text":{},"annotations":{},"logprobs":{},"refusal":{},"image_url":{},"detail":{},)"
      R"("file_id":{},"file_data":{},"file_url":{},"filename":{},"input_audio":{}}}},)"
      R"({"type":"null"}]},"id":{},"status":{},"phase":{},"call_id":{},"name":{},)"
      R"("arguments":{},"output":{},"summary":{},"encrypted_content":{},"namespace":{},)"
      R"("created_by":{},"caller":{}}}}]})";
};
struct FlatToolsSchema {
  static constexpr std::string_view kText =
      R"({"type":["array","null"],"items":{"type":"object","properties":)"
      R"({"type":{"type":"string","enum":["function"]},"name":{"type":"string"},)"
      R"("description":{"type":["string","null"]},"parameters":{"type":["object","null"]},)"
      R"("strict":{"type":["boolean","null"]},"defer_loading":{"type":["boolean","null"]}},)"
      R"("required":["type","name"]}})";
};
struct ResponseTextSchema {
  static constexpr std::string_view kText =
      R"({"type":["object","null"],"properties":{"format":{"type":["object","null"],)"
      R"("properties":{"type":{"type":"string"},"name":{"type":"string"},)"
      R"("description":{"type":["string","null"]},"schema":{},)"
      R"("strict":{"type":["boolean","null"]}}},"verbosity":{"type":["string","null"]}}})";
};
struct ReasoningSchema {
  static constexpr std::string_view kText =
      R"({"type":["object","null"],"properties":{"effort":{"type":["string","null"],)"
      R"("enum":["none","minimal","low","medium","high","xhigh","max",null]},)"
      R"("summary":{},"generate_summary":{}}})";
};

// `sampling` begins as the model's defaults. Of `common`, what this request has no name for stays
// as it begins.
struct ResponsesRequest {
  CommonFields common;
  SamplingParams sampling;
  Required<JsonFieldOf<ResponseInputSchema>> input;
  std::optional<std::string> instructions;
  std::optional<int> max_output_tokens;
  std::optional<std::string> previous_response_id;
  std::optional<bool> store;
  std::optional<bool> background;
  JsonFieldOf<StringsSchema> include;
  std::optional<int> top_logprobs;
  JsonFieldOf<ResponseTextSchema> text;
  JsonFieldOf<ReasoningSchema> reasoning;
  bool include_reasoning = true;
  JsonFieldOf<FlatToolsSchema> tools;
  JsonFieldOf<ToolChoiceSchema> tool_choice;
  bool parallel_tool_calls = true;
  JsonFieldOf<ObjectSchema> metadata;
  JsonFieldOf<ObjectSchema> chat_template_kwargs;
};

template <typename Visitor>
void VisitFields(ResponsesRequest& r, Visitor&& visit) {
  visit("input", r.input, "A text, or the items of a chat");
  visit("instructions", r.instructions, "The system message");
  visit("model", r.common.model, "A name under which the model is served");
  visit("max_output_tokens", r.max_output_tokens, "Most tokens to generate");
  visit("previous_response_id", r.previous_response_id, "Go on with the chat of a kept answer");
  visit("store", r.store, "Keep the answer; true unless said otherwise");
  visit("background", r.background, "Answer at once and generate meanwhile; needs store");
  visit("stream", r.common.stream, "Answer in events as it is generated");
  visit("include", r.include, "message.output_text.logprobs has an effect");
  visit("top_logprobs", r.top_logprobs, "So many of the best tokens beside each");
  visit("text", r.text, "format: text, json_object or json_schema");
  visit("reasoning", r.reasoning, "effort is handed to the template");
  visit("include_reasoning", r.include_reasoning, "Show the reasoning before the answer");
  visit("tools", r.tools, "Functions that the model may call");
  visit("tool_choice", r.tool_choice, "none, auto, required, or one function by name");
  visit("parallel_tool_calls", r.parallel_tool_calls, "Several calls in one answer");
  visit("metadata", r.metadata, "Stands in the answer");
  visit("chat_template_kwargs", r.chat_template_kwargs, "Further variables of the template");
  visit("request_id", r.common.request_id, "Part of the answer's id");
  visit("priority", r.common.priority,
        "Lower goes first; only with the scheduling policy priority");
  visit("cache_salt", r.common.cache_salt,
        "Only requests with the same salt share cached prefixes");
  visit("structured_outputs", r.common.constraint.structured_outputs, "A constraint of the answer");
  VisitSampling(r.sampling, visit, [](std::string_view name) {
    constexpr std::array<std::string_view, 5> kOthers = {"n", "max_tokens", "logprobs",
                                                         "prompt_logprobs", "detokenize"};
    return std::ranges::find(kOthers, name) != kOthers.end();
  });
  for (const char* name :
       {"user", "session_id", "safety_identifier", "prompt_cache_key", "mm_payload"}) {
    visit(name, AcceptedField(), "Without effect");
  }
  for (const char* name : {"max_tool_calls", "stream_options"}) {
    visit(name, IgnoredField(), "Without effect");
  }
  visit("service_tier", IgnoredField{.neutral = "\"auto\""}, "There is one tier");
  for (const char* name :
       {"prompt", "conversation", "watermarking", "kv_transfer_params", "ec_transfer_params",
        "return_mm_kwargs", "mm_processor_kwargs", "media_io_kwargs", "enable_response_messages",
        "previous_input_messages"}) {
    visit(name, RefusedField(), "Not served");
  }
  visit("vllm_xargs", kNoPlugIns, "Of plug-ins, which there are none of");
  visit("truncation", RefusedField{.neutral = "\"disabled\""}, "Only disabled is served");
}

}  // namespace quire
