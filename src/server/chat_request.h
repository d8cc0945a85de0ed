// The body of POST /v1/chat/completions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "request/sampling_params.h"
#include "server/request_fields.h"

namespace quire {

struct MessagesSchema {
  static constexpr std::string_view kText =
      R"({"type":"array","minItems":1,"items":{"type":"object","properties":)"
      R"({"role":{"type":"string"},"content":{"anyOf":[{"type":"string"},{"type":"array",)"
      R"("items":{"type":"object","properties":{"type":{"type":"string"},"text":{},"refusal":{},)"
      R"("image_url":{},"input_audio":{},"file":{},"video_url":{},"audio_url":{},"uuid":{},)"
      R"("cache_control":{}}}},{"type":"null"}]},"name":{"type":"string"},)"
      R"("tool_calls":{"type":["array","null"],"items":{"type":"object","properties":)"
      R"({"id":{"type":"string"},"type":{"type":"string"},"index":{"type":"integer"},)"
      R"("function":{"type":"object","properties":{"name":{"type":"string"},"arguments":{}}}}}},)"
      R"("tool_call_id":{"type":"string"},"reasoning":{},"reasoning_content":{},"refusal":{},)"
      R"("annotations":{},"audio":{},"function_call":{},"tools":{},"thinking":{}},)"
      R"("required":["role"]}})";
};
struct ToolsSchema {
  static constexpr std::string_view kText =
      R"({"type":["array","null"],"items":{"type":"object","properties":)"
      R"({"type":{"type":"string","enum":["function"]},"function":{"type":"object","properties":)"
      R"({"name":{"type":"string"},"description":{"type":["string","null"]},)"
      R"("parameters":{"type":["object","null"]},"strict":{"type":["boolean","null"]},)"
      R"("defer_loading":{"type":["boolean","null"]}},"required":["name"]}},)"
      R"("required":["function"]}})";
};
struct ToolChoiceSchema {
  static constexpr std::string_view kText =
      R"({"anyOf":[{"type":"string","enum":["none","auto","required"]},{"type":"object"},)"
      R"({"type":"null"}]})";
};
struct DocumentsSchema {
  static constexpr std::string_view kText =
      R"({"type":["array","null"],"items":{"type":"object"}})";
};

// How a chat becomes a prompt; of /tokenize and of rendering too.
struct ChatTemplateFields {
  bool add_generation_prompt = true;
  bool continue_final_message = false;
  bool add_special_tokens = false;
  JsonFieldOf<DocumentsSchema> documents;
  std::optional<std::string> chat_template;
  JsonFieldOf<ObjectSchema> chat_template_kwargs;
};

template <typename Visitor>
void VisitFields(ChatTemplateFields& r, Visitor&& visit) {
  visit("add_generation_prompt", r.add_generation_prompt, "End the prompt where the answer begins");
  visit("continue_final_message", r.continue_final_message,
        "Go on with the last message; needs add_generation_prompt false");
  visit("add_special_tokens", r.add_special_tokens,
        "Put the tokenizer's BOS before what the template wrote");
  visit("documents", r.documents, "Handed to the template");
  visit("chat_template", r.chat_template,
        "Instead of the server's; only with --trust-request-chat-template");
  visit("chat_template_kwargs", r.chat_template_kwargs, "Further variables of the template");
}

// `sampling` begins as the model's defaults.
struct ChatRequest {
  CommonFields common;
  SamplingParams sampling;
  Required<JsonFieldOf<MessagesSchema>> messages;
  ChatTemplateFields chat;
  JsonFieldOf<ToolsSchema> tools;
  JsonFieldOf<ToolChoiceSchema> tool_choice;
  bool parallel_tool_calls = true;
  std::optional<bool> logprobs;
  std::optional<int> top_logprobs;
  std::optional<int> max_completion_tokens;
  WordOf<EffortWords> reasoning_effort;
  bool include_reasoning = true;
  bool echo = false;
  std::optional<bool> return_prompt_text;
};

template <typename Visitor>
void VisitFields(ChatRequest& r, Visitor&& visit) {
  visit("messages", r.messages, "The chat so far");
  visit("tools", r.tools, "Functions that the model may call");
  visit("tool_choice", r.tool_choice, "none, auto, required, or one function by name");
  visit("parallel_tool_calls", r.parallel_tool_calls, "Several calls in one answer");
  visit("logprobs", r.logprobs, "Log-probabilities of the answer's tokens");
  visit("top_logprobs", r.top_logprobs, "So many of the best tokens beside each; needs logprobs");
  visit("max_completion_tokens", r.max_completion_tokens, "max_tokens under its newer name");
  visit("reasoning_effort", r.reasoning_effort, "Handed to the template");
  visit("include_reasoning", r.include_reasoning, "Show the reasoning before the answer");
  visit("echo", r.echo, "Begin the answer with the message that it continues");
  visit("return_prompt_text", r.return_prompt_text, "The rendered prompt beside the answer");
  VisitFields(r.chat, visit);
  VisitFields(r.common, visit);
  VisitSampling(r.sampling, visit, [](std::string_view name) { return name == "logprobs"; });
  VisitForeignFields(visit);
  visit("prediction", IgnoredField(), "Without effect");
  visit("verbosity", IgnoredField{.neutral = "\"medium\""}, "Without effect");
  for (const char* name : {"functions", "function_call", "audio", "web_search_options"}) {
    visit(name, RefusedField(), "Not served");
  }
  visit("modalities", RefusedField{.neutral = R"(["text"])"}, "Only text is served");
}

}  // namespace quire
