// The body of POST /v1/completions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "request/sampling_params.h"
#include "server/request_fields.h"

namespace quire {

struct CompletionPromptSchema {
  static constexpr std::string_view kText =
      R"({"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}},)"
      R"({"type":"array","items":{"type":"integer"}},)"
      R"({"type":"array","items":{"type":"array","items":{"type":"integer"}}}]})";
};

// `sampling` begins as the model's defaults.
struct CompletionRequest {
  CommonFields common;
  SamplingParams sampling;
  Required<JsonFieldOf<CompletionPromptSchema>> prompt;
  bool echo = false;
  bool add_special_tokens = true;
  std::optional<int> best_of;
};

template <typename Visitor>
void VisitFields(CompletionRequest& r, Visitor&& visit) {
  visit("prompt", r.prompt, "A text, a list of texts, token ids, or a list of lists of token ids");
  visit("echo", r.echo, "Begin the answer with the prompt");
  visit("add_special_tokens", r.add_special_tokens, "Put the tokenizer's BOS before the prompt");
  visit("best_of", r.best_of, "Generate so many and answer with the n most probable");
  VisitFields(r.common, visit);
  VisitSampling(r.sampling, visit, [](std::string_view) { return false; });
  visit("suffix", RefusedField(), "Not served");
  visit("prompt_embeds", RefusedField(), "Not served");
  VisitForeignFields(visit);
}

}  // namespace quire
