#include "engine/api_convert.h"

#include <utility>
#include <variant>

#include "base/strings.h"
#include "config/options.h"

namespace quire::api {
namespace {

static_assert(static_cast<int>(Code::kInternal) == static_cast<int>(::quire::Code::kInternal));
static_assert(static_cast<int>(Code::kUnavailable) ==
              static_cast<int>(::quire::Code::kUnavailable));

FinishReason ToPublic(const std::optional<::quire::FinishReason>& reason) {
  if (!reason) return FinishReason::kNone;
  switch (*reason) {
    case ::quire::FinishReason::kStop:
      return FinishReason::kStop;
    case ::quire::FinishReason::kLength:
      return FinishReason::kLength;
    case ::quire::FinishReason::kAbort:
      return FinishReason::kAbort;
    case ::quire::FinishReason::kError:
      return FinishReason::kError;
  }
  return FinishReason::kError;
}

std::string ToPublic(const StopReason& reason) {
  if (const auto* text = std::get_if<std::string>(&reason)) return *text;
  if (const auto* token = std::get_if<::quire::TokenId>(&reason)) return StrCat(*token);
  return "";
}

std::vector<std::vector<TokenLogprob>> ToPublic(const std::vector<PositionLogprobs>& positions) {
  std::vector<std::vector<TokenLogprob>> lists;
  lists.reserve(positions.size());
  for (const PositionLogprobs& position : positions) {
    std::vector<TokenLogprob>& list = lists.emplace_back();
    for (const ::quire::TokenLogprob& entry : position.entries) {
      list.push_back({.token = entry.token, .logprob = entry.logprob, .rank = entry.rank});
    }
  }
  return lists;
}

}  // namespace

Status ToPublic(const ::quire::Status& status) {
  if (status.ok()) return {};
  return Status(static_cast<Code>(status.code()), status.message());
}

Output ToPublic(RequestOutput output) {
  Output result;
  result.request_id = std::move(output.request_id);
  result.prompt_token_ids = std::move(output.prompt_token_ids);
  result.prompt_logprobs = ToPublic(output.prompt_logprobs);
  for (CompletionOutput& answer : output.outputs) {
    Completion& completion = result.completions.emplace_back();
    completion.index = answer.index;
    completion.text = std::move(answer.text);
    completion.token_ids = std::move(answer.token_ids);
    completion.logprobs = ToPublic(answer.logprobs);
    completion.finish_reason = ToPublic(answer.finish_reason);
    completion.stop_reason = ToPublic(answer.stop_reason);
  }
  result.is_finished = output.is_finished;
  result.num_cached_tokens = output.num_cached_tokens;
  result.status = ToPublic(output.error);
  return result;
}

::quire::Result<EngineConfig> ToEngineConfig(const std::string& model, const Options& options) {
  EngineConfig config;
  for (const auto& [name, value] : options.values()) {
    QUIRE_RETURN_IF_ERROR(SetEngineFlag(config, name, value));
  }
  config.model.model = model;
  return config;
}

::quire::Result<SamplingParams> ToSamplingParams(const SamplingParams& defaults,
                                                 const Options& options) {
  SamplingParams params = defaults;
  for (const auto& [name, value] : options.values()) {
    QUIRE_RETURN_IF_ERROR(SetSamplingFlag(params, name, value));
  }
  return params;
}

PromptInput ToPromptInput(const Prompt& prompt, SamplingParams sampling) {
  PromptInput input;
  input.text = prompt.text;
  input.token_ids = prompt.token_ids;
  input.sampling = std::move(sampling);
  return input;
}

}  // namespace quire::api
