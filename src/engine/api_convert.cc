#include "engine/api_convert.h"

#include <array>
#include <memory>
#include <optional>
#include <string_view>
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
    case ::quire::FinishReason::kRepetition:
      return FinishReason::kRepetition;
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

namespace {

// The options that constrain an answer, which are not sampling parameters by name.
class ConstraintReader {
 public:
  // Whether `name` is one of them.
  bool Take(std::string_view name, const std::string& value) {
    if (name == "choice") {
      params_.choices.push_back(value);
      return Add(ConstraintKind::kChoice);
    }
    if (name == "disable_any_whitespace") params_.disable_any_whitespace = value == "true";
    if (name == "disable_additional_properties") {
      params_.disable_additional_properties = value == "true";
    }
    if (name.starts_with("disable_a")) return true;
    constexpr std::array<std::pair<std::string_view, ConstraintKind>, 5> kNames = {
        {{"json_schema", ConstraintKind::kJson},
         {"json_object", ConstraintKind::kJsonObject},
         {"regex", ConstraintKind::kRegex},
         {"grammar", ConstraintKind::kGrammar},
         {"structural_tag", ConstraintKind::kStructuralTag}}};
    for (const auto& [known, kind] : kNames) {
      if (name != known) continue;
      params_.text = kind == ConstraintKind::kJsonObject ? "" : value;
      return Add(kind);
    }
    return false;
  }

  // Null where none was given.
  ::quire::Result<std::shared_ptr<const StructuredOutputParams>> Params() && {
    if (!kind_) return std::shared_ptr<const StructuredOutputParams>();
    if (is_double_) return InvalidArgument("only one constraint of an answer can hold at once");
    params_.kind = *kind_;
    return std::make_shared<const StructuredOutputParams>(std::move(params_));
  }

 private:
  bool Add(ConstraintKind kind) {
    is_double_ |= kind_ && (*kind_ != kind || kind != ConstraintKind::kChoice);
    kind_ = kind;
    return true;
  }

  StructuredOutputParams params_;
  std::optional<ConstraintKind> kind_;
  bool is_double_ = false;
};

}  // namespace

::quire::Result<SamplingParams> ToSamplingParams(const SamplingParams& defaults,
                                                 const Options& options) {
  SamplingParams params = defaults;
  ConstraintReader constraint;
  for (const auto& [name, value] : options.values()) {
    if (constraint.Take(name, value)) continue;
    QUIRE_RETURN_IF_ERROR(SetSamplingFlag(params, name, value));
  }
  QUIRE_ASSIGN_OR_RETURN(auto structured, std::move(constraint).Params());
  if (structured != nullptr) params.structured_outputs = std::move(structured);
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
