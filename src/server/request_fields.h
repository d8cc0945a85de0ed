// The kinds of fields that requests have, and the lists that several requests share. A request is
// a struct with a function
//
//   template <typename Visitor> void VisitFields(X& request, Visitor&& visit);
//
// that calls visit(name, field, help) for each field it knows. Parsing, the checks of types, what
// counts as unknown, and /openapi.json are all made from it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json.h"
#include "request/sampling_fields.h"

namespace quire {

// A value that its reader takes apart. `Schema::kText` is its JSON schema.
struct JsonField {
  Json value;  // null: absent or null
  bool is_given() const { return !value.is_null(); }
};
template <typename Schema>
struct JsonFieldOf : JsonField {};

// A field without which there is no request.
template <typename T>
struct Required : T {};

// Known to clients, and without effect on an answer.
struct AcceptedField {};

// Known to clients, who expect an effect that it does not have here: noted unless it is null, or
// empty, or says what holds anyway.
struct IgnoredField {
  std::string_view neutral = {};  // JSON text of that
};

// A list of strings, where a string alone is not taken for one.
struct StringList : std::vector<std::string> {};

// One of the words of `Words::kWords`, or none.
template <typename Words>
struct WordOf {
  std::optional<std::string> value;
};
struct EffortWords {
  static constexpr std::array<std::string_view, 7> kWords = {"none", "minimal", "low", "medium",
                                                             "high", "xhigh",   "max"};
};

// Known to clients and not served: refused unless it is null, or empty, or says what holds anyway.
struct RefusedField {
  std::string_view neutral = {};  // JSON text of that
  std::string_view reason = {};   // after "is not served here"
};
inline constexpr RefusedField kNoPlugIns = {.reason = ": it is for plug-ins, and there are none"};

struct StreamOptions {
  bool include_usage = false;
  bool continuous_usage_stats = false;
};

template <typename Visitor>
void VisitFields(StreamOptions& r, Visitor&& visit) {
  visit("include_usage", r.include_usage, "A last chunk without choices holds the usage");
  visit("continuous_usage_stats", r.continuous_usage_stats, "Usage in every chunk");
}

struct StreamOptionsSchema {
  static constexpr std::string_view kText =
      R"({"type":["object","null"],"properties":{"include_usage":{"type":"boolean"},)"
      R"("continuous_usage_stats":{"type":"boolean"}}})";
};
struct ObjectSchema {
  static constexpr std::string_view kText = R"({"type":["object","null"]})";
};
struct AnySchema {
  static constexpr std::string_view kText = "{}";
};
struct StringsSchema {
  static constexpr std::string_view kText =
      R"({"type":["array","null"],"items":{"type":"string"}})";
};
struct RepetitionSchema {
  static constexpr std::string_view kText =
      R"({"type":["object","null"],"properties":{)"
      R"("max_pattern_size":{"type":["integer","null"],"minimum":0,"maximum":2048,"default":0},)"
      R"("min_pattern_size":{"type":["integer","null"],"minimum":0,"default":0},)"
      R"("min_count":{"type":["integer","null"],"default":0}}})";
};
struct ResponseFormatSchema {
  static constexpr std::string_view kText =
      R"({"type":["object","null"],"properties":{"type":{"type":"string",)"
      R"("enum":["text","json_object","json_schema","structural_tag"]},)"
      R"("json_schema":{"type":["object","null"],"properties":{"name":{"type":"string"},)"
      R"("description":{"type":["string","null"]},"schema":{},)"
      R"("strict":{"type":["boolean","null"]}}},)"
      R"("structures":{"type":"array"},"triggers":{"type":"array"},"format":{}},)"
      R"("required":["type"]})";
};
struct StructuredOutputsSchema {
  static constexpr std::string_view kText =
      R"({"type":["object","null"],"properties":{"json":{"type":["string","object","null"]},)"
      R"("regex":{"type":["string","null"]},)"
      R"("choice":{"type":["array","null"],"items":{"type":"string"}},)"
      R"("grammar":{"type":["string","null"]},"json_object":{"type":["boolean","null"]},)"
      R"("structural_tag":{"type":["string","null"]},)"
      R"("disable_any_whitespace":{"type":"boolean"},)"
      R"("disable_additional_properties":{"type":"boolean"},)"
      R"("whitespace_pattern":{"type":["string","null"]},"_backend":{},"_backend_was_auto":{}}})";
};

// What the answer must look like; at most one of them (constraint.h).
struct ConstraintFields {
  JsonFieldOf<ResponseFormatSchema> response_format;
  JsonFieldOf<StructuredOutputsSchema> structured_outputs;
  JsonFieldOf<AnySchema> guided_json;
  std::optional<std::string> guided_regex;
  JsonFieldOf<StringsSchema> guided_choice;
  std::optional<std::string> guided_grammar;
  std::optional<bool> guided_json_object;
  std::optional<std::string> guided_whitespace_pattern;
};

template <typename Visitor>
void VisitFields(ConstraintFields& r, Visitor&& visit) {
  visit("response_format", r.response_format, "text, json_object, json_schema or structural_tag");
  visit("structured_outputs", r.structured_outputs, "A constraint of the answer");
  visit("guided_json", r.guided_json, "structured_outputs.json under its old name");
  visit("guided_regex", r.guided_regex, "structured_outputs.regex under its old name");
  visit("guided_choice", r.guided_choice, "structured_outputs.choice under its old name");
  visit("guided_grammar", r.guided_grammar, "structured_outputs.grammar under its old name");
  visit("guided_json_object", r.guided_json_object,
        "structured_outputs.json_object under its old name");
  visit("guided_whitespace_pattern", r.guided_whitespace_pattern,
        "structured_outputs.whitespace_pattern under its old name");
  visit("guided_decoding_backend", AcceptedField(), "There is one backend");
}

// What every request that generates has, besides its prompt.
struct CommonFields {
  std::optional<std::string> model;
  std::optional<bool> stream;
  JsonFieldOf<StreamOptionsSchema> stream_options;
  std::int64_t priority = 0;
  std::optional<std::string> request_id;
  std::optional<std::string> cache_salt;
  std::optional<bool> return_tokens_as_token_ids;
  std::optional<bool> return_token_ids;
  std::optional<int> stream_interval;
  bool use_beam_search = false;
  double length_penalty = 1.0;
  ConstraintFields constraint;
};

template <typename Visitor>
void VisitFields(CommonFields& r, Visitor&& visit) {
  visit("model", r.model, "A name under which the model is served");
  visit("stream", r.stream, "Answer in events as it is generated");
  visit("stream_options", r.stream_options, "Only with stream");
  visit("priority", r.priority, "Lower goes first; only with the scheduling policy priority");
  visit("request_id", r.request_id, "Part of the answer's id");
  visit("cache_salt", r.cache_salt, "Only requests with the same salt share cached prefixes");
  visit("return_tokens_as_token_ids", r.return_tokens_as_token_ids,
        "Tokens in logprobs as \"token_id:ID\"");
  visit("return_token_ids", r.return_token_ids, "Token ids beside the text");
  visit("stream_interval", r.stream_interval,
        "Tokens between two pieces of a stream; the first goes out at once");
  visit("use_beam_search", r.use_beam_search, "The n most probable answers by a beam search");
  visit("length_penalty", r.length_penalty, "Of a beam search; above 1 favours longer answers");
  VisitFields(r.constraint, visit);
}

// Known to vLLM's and OpenAI's clients, whatever the kind of request.
template <typename Visitor>
void VisitForeignFields(Visitor&& visit) {
  for (const char* name :
       {"user", "session_id", "metadata", "safety_identifier", "prompt_cache_key", "mm_payload"}) {
    visit(name, AcceptedField(), "Without effect");
  }
  visit("store", IgnoredField(), "Without effect");
  visit("service_tier", IgnoredField{.neutral = "\"auto\""}, "There is one tier");
  for (const char* name :
       {"watermarking", "kv_transfer_params", "ec_transfer_params", "routed_experts_prompt_start",
        "return_token_offsets", "return_mm_kwargs", "mm_processor_kwargs", "media_io_kwargs",
        "logits_processors"}) {
    visit(name, RefusedField(), "Not served");
  }
  visit("vllm_xargs", kNoPlugIns, "Of plug-ins, which there are none of");
  visit("truncation_side", RefusedField{.neutral = "\"left\""}, "Only left is served");
}

// The fields of SamplingParams but those that `is_left_out(name)`.
template <typename Visitor, typename Predicate>
void VisitSampling(SamplingParams& sampling, Visitor&& visit, Predicate is_left_out) {
  VisitFields(sampling, [&](std::string_view name, auto& field, std::string_view help) {
    if (!is_left_out(name)) visit(name, field, help);
  });
}

}  // namespace quire
