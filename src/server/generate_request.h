// The body of POST /inference/v1/generate.
#pragma once

#include <vector>

#include "base/id.h"
#include "request/sampling_params.h"
#include "server/request_fields.h"

namespace quire {

// How tokens are chosen, all in one object. `sampling` begins as the model's defaults.
struct GenerateSampling {
  SamplingParams sampling;
  JsonFieldOf<StructuredOutputsSchema> structured_outputs;
};

template <typename Visitor>
void VisitFields(GenerateSampling& r, Visitor&& visit) {
  VisitSampling(r.sampling, visit, [](std::string_view) { return false; });
  visit("structured_outputs", r.structured_outputs, "A constraint of the answer");
}

// Of `common`, what this request has no name for stays as it begins.
struct GenerateRequest {
  CommonFields common;
  Required<std::vector<TokenId>> token_ids;
  Required<JsonFieldOf<ObjectSchema>> sampling_params;
};

template <typename Visitor>
void VisitFields(GenerateRequest& r, Visitor&& visit) {
  visit("token_ids", r.token_ids, "The prompt");
  visit("sampling_params", r.sampling_params, "temperature, max_tokens and their like");
  visit("model", r.common.model, "A name under which the model is served");
  visit("priority", r.common.priority,
        "Lower goes first; only with the scheduling policy priority");
  visit("request_id", r.common.request_id, "Part of the answer's id");
  visit("cache_salt", r.common.cache_salt,
        "Only requests with the same salt share cached prefixes");
  visit("stream", r.common.stream, "Answer in events as it is generated");
  visit("stream_options", r.common.stream_options, "Only with stream");
  visit("prompt_text", AcceptedField(), "Of a rendered prompt; without effect");
  for (const char* name : {"features", "kv_transfer_params", "ec_transfer_params"}) {
    visit(name, RefusedField(), "Not served");
  }
}

}  // namespace quire
