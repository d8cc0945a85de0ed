#include "server/common_request.h"

#include "base/strings.h"
#include "server/api_error.h"
#include "server/beam_run.h"
#include "server/constraint.h"

namespace quire {
namespace {

constexpr std::size_t kMaxSaltBytes = 1024;

Status CheckPriority(const ApiState& state, std::int64_t priority) {
  if (priority != 0 && !state.options.allow_priority) {
    return InvalidArgument(
        StrCat("priority: must be 0 as the scheduling policy is fcfs, got ", priority));
  }
  if (std::in_range<int>(priority)) return {};
  return InvalidArgument(StrCat("priority: must be an integer of 32 bits, got ", priority));
}

Status CheckSalt(const std::optional<std::string>& salt) {
  if (!salt || (!salt->empty() && salt->size() <= kMaxSaltBytes)) return {};
  return InvalidArgument(
      StrCat("cache_salt: must have 1 to ", kMaxSaltBytes, " bytes, got ", salt->size()));
}

Status CheckInterval(std::optional<int> interval) {
  if (interval.value_or(1) >= 1) return {};
  return InvalidArgument(StrCat("stream_interval: must be at least 1, got ", *interval));
}

Status CheckLengths(const AsyncEngine& engine, const SamplingParams& sampling) {
  const int max_model_len = engine.decisions().plan.max_model_len;
  if (sampling.max_tokens && *sampling.max_tokens > max_model_len) {
    return InvalidArgument(StrCat("max_tokens: must be at most max_model_len, which is ",
                                  max_model_len, ", got ", *sampling.max_tokens));
  }
  if (sampling.truncate_prompt_tokens && *sampling.truncate_prompt_tokens > max_model_len) {
    return InvalidArgument(
        StrCat("truncate_prompt_tokens: must be at most max_model_len, which is ", max_model_len,
               ", got ", *sampling.truncate_prompt_tokens));
  }
  return {};
}

Status CheckThinking(const ApiState& state, const SamplingParams& sampling) {
  if (!sampling.bounds_thinking()) return {};
  if (state.reasoning == nullptr) {
    return InvalidArgument(
        "thinking_token_budget: needs a reasoning parser, and there is none for this model; see "
        "--reasoning-parser");
  }
  if (!state.reasoning->begin_marker.empty()) return {};
  return InvalidArgument(StrCat("thinking_token_budget: is not served with the reasoning parser ",
                                state.reasoning->name, ", which has no markers to count between"));
}

Status ReadStreamOptions(CommonFields& common, Delivery& delivery) {
  if (!common.stream_options.is_given()) return {};
  if (!delivery.is_stream) {
    return InvalidArgument("stream_options: only with stream: true");
  }
  if (!common.stream_options.value.is_object()) {
    return InvalidArgument(
        StrCat("stream_options: must be an object, got ", common.stream_options.value.kind()));
  }
  StreamOptions options;
  const auto read = ReadFields(common.stream_options.value, options);
  if (!read.ok()) return UnderPath("stream_options", read.status());
  delivery.has_usage_chunk = options.include_usage;
  delivery.has_usage_in_chunks = options.include_usage && options.continuous_usage_stats;
  return {};
}

}  // namespace

Result<Delivery> ReadCommon(ApiCall& call, CommonFields& common, SamplingParams& sampling,
                            FieldNames& names) {
  const ApiOptions& options = call.state.options;
  QUIRE_RETURN_IF_ERROR(CheckModel(call.state, common.model));
  QUIRE_RETURN_IF_ERROR(CheckPriority(call.state, common.priority));
  QUIRE_RETURN_IF_ERROR(CheckSalt(common.cache_salt));
  QUIRE_RETURN_IF_ERROR(CheckInterval(common.stream_interval));
  QUIRE_RETURN_IF_ERROR(CheckLengths(*call.engine, sampling));
  QUIRE_RETURN_IF_ERROR(CheckThinking(call.state, sampling));
  Delivery delivery;
  delivery.is_stream = common.stream.value_or(false);
  QUIRE_RETURN_IF_ERROR(ReadStreamOptions(common, delivery));
  if (delivery.is_stream && options.enable_force_include_usage) {
    delivery.has_usage_chunk = delivery.has_usage_in_chunks = true;
  }
  if (delivery.is_stream && sampling.prompt_logprobs) {
    return InvalidArgument("prompt_logprobs: cannot be had with stream: true");
  }
  delivery.return_token_ids = common.return_token_ids.value_or(false);
  delivery.tokens_as_ids =
      common.return_tokens_as_token_ids.value_or(options.return_tokens_as_token_ids);
  QUIRE_ASSIGN_OR_RETURN(sampling.structured_outputs, ReadConstraint(common.constraint, names));
  QUIRE_RETURN_IF_ERROR(CheckBeamSearch(common, sampling));
  if (!common.use_beam_search && common.length_penalty != 1.0) {
    WarnOf(call, "fields without effect here", {"length_penalty"});
  }
  sampling.output_kind = delivery.is_stream ? OutputKind::kDelta : OutputKind::kFinalOnly;
  return delivery;
}

Result<bool> ReadLogprobs(SamplingParams& sampling) {
  const std::size_t num_ids = sampling.logprob_token_ids.size();
  if (num_ids == 0) return sampling.logprobs.has_value();
  if (sampling.logprobs && *sampling.logprobs != static_cast<int>(num_ids)) {
    return InvalidArgument(StrCat("logprobs: must be the length of logprob_token_ids, which is ",
                                  num_ids, ", got ", *sampling.logprobs));
  }
  sampling.logprobs.reset();
  return true;
}

std::optional<ReasoningMarkers> MarkersOf(const ApiState& state) {
  if (state.reasoning == nullptr) return std::nullopt;
  return ReasoningMarkers{.begin = std::string(state.reasoning->begin_marker),
                          .end = std::string(state.reasoning->end_marker),
                          .begins_unmarked = state.reasoning->begins_unmarked};
}

PromptInput InputOf(const ApiState& state, const CommonFields& common,
                    const SamplingParams& sampling) {
  PromptInput input;
  if (sampling.thinking_token_budget) input.reasoning = MarkersOf(state);
  input.may_continue_reasoning = true;
  input.sampling = sampling;
  input.priority = static_cast<int>(common.priority);
  input.cache_salt = common.cache_salt.value_or("");
  input.stream_interval = common.stream_interval.value_or(1);
  return input;
}

}  // namespace quire
