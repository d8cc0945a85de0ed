#include "request/sampling_params.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/strings.h"

namespace quire {

namespace {

constexpr double kMaxTemperature = 2.0;
constexpr double kMaxPenalty = 2.0;
constexpr float kMaxLogitBias = 100.0F;

template <typename T>
Status Refuse(std::string_view field, std::string_view wanted, const T& got) {
  return InvalidArgument(StrCat(field, ": must be ", wanted, ", got ", got));
}

// `value` in [low, high]; the comparison is written so that NaN fails it.
Status CheckClosed(std::string_view field, double value, double low, double high) {
  if (value >= low && value <= high) return {};
  return Refuse(field, StrCat("in [", low, ", ", high, "]"), value);
}

// `value` in (0, 1].
Status CheckFraction(std::string_view field, double value) {
  if (value > 0.0 && value <= 1.0) return {};
  return Refuse(field, "in (0, 1]", value);
}

// As the engine applies it: in f32, where it may neither vanish nor overflow.
Status CheckRepetitionPenalty(double value) {
  using Limits = std::numeric_limits<float>;
  if (value >= Limits::min() && value <= Limits::max()) return {};
  return Refuse("repetition_penalty", "a finite number above 0", value);
}

Status CheckIds(std::string_view field, std::span<const TokenId> ids, int vocab_size) {
  for (const TokenId id : ids) {
    if (id < 0 || id >= vocab_size) {
      return Refuse(field, StrCat("token ids in [0, ", vocab_size, ")"), id);
    }
  }
  return {};
}

Status CheckNoEmptyText(std::string_view field, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    if (text.empty()) return InvalidArgument(StrCat(field, ": must not hold an empty string"));
  }
  return {};
}

Status CheckCount(std::string_view field, std::size_t count, int max_count) {
  if (count <= static_cast<std::size_t>(max_count)) return {};
  return Refuse(field, StrCat("at most ", max_count, " entries"), count);
}

Status CheckLogprobCount(std::string_view field, std::optional<int> count, int vocab_size,
                         int max_logprobs) {
  if (!count) return {};
  const int limit = max_logprobs == kAllLogprobs ? vocab_size : std::min(max_logprobs, vocab_size);
  if (*count == kAllLogprobs) {
    if (limit == vocab_size) return {};
    return InvalidArgument(StrCat(field, ": -1 asks for all ", vocab_size,
                                  " tokens of the vocabulary, but max_logprobs is ", max_logprobs));
  }
  if (*count >= 0 && *count <= limit) return {};
  return Refuse(field, StrCat("in [0, ", limit, "] or -1 for all"), *count);
}

Status CheckDistribution(const SamplingParams& params) {
  QUIRE_RETURN_IF_ERROR(CheckClosed("temperature", params.temperature, 0.0, kMaxTemperature));
  QUIRE_RETURN_IF_ERROR(CheckFraction("top_p", params.top_p));
  if (params.top_k < -1) return Refuse("top_k", "at least 1, or 0 or -1 for off", params.top_k);
  QUIRE_RETURN_IF_ERROR(CheckClosed("min_p", params.min_p, 0.0, 1.0));
  QUIRE_RETURN_IF_ERROR(CheckFraction("typical_p", params.typical_p));
  QUIRE_RETURN_IF_ERROR(
      CheckClosed("presence_penalty", params.presence_penalty, -kMaxPenalty, kMaxPenalty));
  QUIRE_RETURN_IF_ERROR(
      CheckClosed("frequency_penalty", params.frequency_penalty, -kMaxPenalty, kMaxPenalty));
  return CheckRepetitionPenalty(params.repetition_penalty);
}

Status CheckOutputs(const SamplingParams& params) {
  if (params.n < 1 || params.n > kMaxOutputs) {
    return Refuse("n", StrCat("in [1, ", kMaxOutputs, "]"), params.n);
  }
  if (params.n > 1 && params.is_greedy()) {
    return Refuse("n", "1 where temperature is 0, as all outputs would be equal", params.n);
  }
  return {};
}

Status CheckLengths(const SamplingParams& params) {
  if (params.max_tokens && *params.max_tokens < 1) {
    return Refuse("max_tokens", "at least 1", *params.max_tokens);
  }
  if (params.min_tokens < 0) return Refuse("min_tokens", "at least 0", params.min_tokens);
  if (params.max_tokens && params.min_tokens > *params.max_tokens) {
    return Refuse("min_tokens", StrCat("at most max_tokens, which is ", *params.max_tokens),
                  params.min_tokens);
  }
  if (params.thinking_token_budget && *params.thinking_token_budget < -1) {
    return Refuse("thinking_token_budget", "at least 0, or -1 for no bound",
                  *params.thinking_token_budget);
  }
  const std::optional<int> kept = params.truncate_prompt_tokens;
  if (kept && *kept != -1 && *kept < 1) {
    return Refuse("truncate_prompt_tokens", "at least 1, or -1 for as many as fit", *kept);
  }
  return {};
}

Status CheckRepetition(const RepetitionDetection& repetition) {
  const int max_size = repetition.max_pattern_size;
  if (max_size < 0 || max_size > kMaxPatternSize) {
    return Refuse("max_pattern_size", StrCat("in [0, ", kMaxPatternSize, "]"), max_size);
  }
  if (repetition.min_pattern_size < 0 || repetition.min_pattern_size > max_size) {
    return Refuse("min_pattern_size",
                  StrCat("at least 0 and at most max_pattern_size, which is ", max_size),
                  repetition.min_pattern_size);
  }
  if (max_size == 0 || repetition.min_count >= 2) return {};
  return Refuse("min_count", "at least 2 where max_pattern_size is not 0", repetition.min_count);
}

Status CheckStops(const SamplingParams& params, int vocab_size) {
  QUIRE_RETURN_IF_ERROR(CheckCount("stop", params.stop.size(), kMaxStopStrings));
  QUIRE_RETURN_IF_ERROR(CheckNoEmptyText("stop", params.stop));
  if (!params.stop.empty() && !params.detokenize) {
    return InvalidArgument("stop: needs detokenize, which is false");
  }
  if (params.repetition_detection) {
    const Status status = CheckRepetition(*params.repetition_detection);
    if (!status.ok()) return status.With("repetition_detection");
  }
  return CheckIds("stop_token_ids", params.stop_token_ids, vocab_size);
}

Status CheckBadWords(const SamplingParams& params, int vocab_size) {
  QUIRE_RETURN_IF_ERROR(CheckCount("bad_words", params.bad_words.size(), kMaxBadWords));
  QUIRE_RETURN_IF_ERROR(CheckNoEmptyText("bad_words", params.bad_words));
  std::size_t num_tokens = 0;
  for (const std::vector<TokenId>& word : params.bad_words_ids) {
    if (word.empty()) return InvalidArgument("bad_words: one of them has no tokens");
    QUIRE_RETURN_IF_ERROR(CheckIds("bad_words", word, vocab_size));
    num_tokens += word.size();
  }
  if (num_tokens <= kMaxBadWordsTokens) return {};
  return Refuse("bad_words", StrCat("at most ", kMaxBadWordsTokens, " tokens together"),
                num_tokens);
}

Status CheckMasks(const SamplingParams& params, int vocab_size) {
  for (const auto& [id, bias] : params.logit_bias) {
    QUIRE_RETURN_IF_ERROR(CheckIds("logit_bias", {&id, 1}, vocab_size));
    if (std::isnan(bias)) {
      return InvalidArgument(StrCat("logit_bias: must be a number, got NaN for token ", id));
    }
  }
  if (params.allowed_token_ids) {
    if (params.allowed_token_ids->empty()) {
      return InvalidArgument("allowed_token_ids: must not be empty");
    }
    QUIRE_RETURN_IF_ERROR(CheckIds("allowed_token_ids", *params.allowed_token_ids, vocab_size));
  }
  return CheckBadWords(params, vocab_size);
}

Status CheckLogprobs(const SamplingParams& params, int vocab_size, int max_logprobs) {
  QUIRE_RETURN_IF_ERROR(CheckLogprobCount("logprobs", params.logprobs, vocab_size, max_logprobs));
  QUIRE_RETURN_IF_ERROR(
      CheckLogprobCount("prompt_logprobs", params.prompt_logprobs, vocab_size, max_logprobs));
  const std::vector<TokenId>& ids = params.logprob_token_ids;
  QUIRE_RETURN_IF_ERROR(CheckCount("logprob_token_ids", ids.size(), kMaxLogprobTokenIds));
  QUIRE_RETURN_IF_ERROR(CheckIds("logprob_token_ids", ids, vocab_size));
  if (!ids.empty() && params.logprobs && *params.logprobs != static_cast<int>(ids.size())) {
    return Refuse("logprobs", StrCat("the length of logprob_token_ids, which is ", ids.size()),
                  *params.logprobs);
  }
  return {};
}

std::vector<TokenId> WithoutRepeats(const std::vector<TokenId>& ids) {
  std::vector<TokenId> kept;
  std::unordered_set<TokenId> seen;
  for (const TokenId id : ids) {
    if (seen.insert(id).second) kept.push_back(id);
  }
  return kept;
}

// One bias a token, where it stood first, with the value it had last.
std::vector<std::pair<TokenId, float>> ClampedBiases(
    const std::vector<std::pair<TokenId, float>>& biases) {
  std::vector<std::pair<TokenId, float>> kept;
  std::unordered_map<TokenId, std::size_t> index;
  for (const auto& [id, bias] : biases) {
    const float clamped = std::clamp(bias, -kMaxLogitBias, kMaxLogitBias);
    const auto [entry, is_new] = index.try_emplace(id, kept.size());
    if (is_new) {
      kept.emplace_back(id, clamped);
    } else {
      kept[entry->second].second = clamped;
    }
  }
  return kept;
}

}  // namespace

Status SamplingParams::Validate(int vocab_size, int max_logprobs) const {
  QUIRE_RETURN_IF_ERROR(CheckDistribution(*this));
  QUIRE_RETURN_IF_ERROR(CheckOutputs(*this));
  QUIRE_RETURN_IF_ERROR(CheckLengths(*this));
  QUIRE_RETURN_IF_ERROR(CheckStops(*this, vocab_size));
  QUIRE_RETURN_IF_ERROR(CheckMasks(*this, vocab_size));
  return CheckLogprobs(*this, vocab_size, max_logprobs);
}

SamplingParams SamplingParams::Normalized() const {
  SamplingParams neutral = *this;
  if (neutral.is_greedy()) {
    neutral.top_p = 1.0;
    neutral.top_k = 0;
    neutral.min_p = 0.0;
    neutral.typical_p = 1.0;
  } else {
    neutral.temperature = std::max(neutral.temperature, kMinTemperature);
  }
  neutral.top_k = std::max(neutral.top_k, 0);
  if (neutral.thinking_token_budget == -1) neutral.thinking_token_budget.reset();
  neutral.stop_token_ids = WithoutRepeats(stop_token_ids);
  neutral.logit_bias = ClampedBiases(logit_bias);
  return neutral;
}

}  // namespace quire
