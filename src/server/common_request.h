// The checks and choices that every request which generates has in common.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/prompt.h"
#include "request/sampling_params.h"
#include "server/api_state.h"
#include "server/field_names.h"
#include "server/field_reader.h"
#include "server/request_fields.h"

namespace quire {

// The visitor that lists names.
class NameCollector {
 public:
  template <typename T>
  void operator()(std::string_view name, T&& /*field*/, std::string_view /*help*/) {
    names_.emplace_back(name);
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

// Fills `request` in from `body` and sees to fields that have no effect.
template <typename Request>
Status ReadRequest(ApiCall& call, Json& body, Request& request) {
  QUIRE_ASSIGN_OR_RETURN(const FieldNotes notes, ReadFields(body, request));
  if (notes.is_empty()) return {};
  NameCollector known;
  VisitFields(request, known);
  return WarnOf(call, notes, known.names());
}

// How a request wants to be answered.
struct Delivery {
  bool is_stream = false;
  bool has_usage_chunk = false;
  bool has_usage_in_chunks = false;
  bool return_token_ids = false;
  bool tokens_as_ids = false;
};

// Checks the common fields against each other, the sampling and the server, and puts the
// constraint into `sampling`. Names the field; what the engine will call otherwise goes to `names`.
Result<Delivery> ReadCommon(ApiCall& call, CommonFields& common, SamplingParams& sampling,
                            FieldNames& names);

// Whether log-probabilities are asked for, be it of the best tokens or of some by their ids. Those
// of ids come instead of the best.
Result<bool> ReadLogprobs(SamplingParams& sampling);

// A prompt's part of what the fields say. It is no chat's; ChatInput makes it one.
PromptInput InputOf(const ApiState& state, const CommonFields& common,
                    const SamplingParams& sampling);

// What stands around the reasoning of the model; nothing where none is told apart.
std::optional<ReasoningMarkers> MarkersOf(const ApiState& state);

}  // namespace quire
