// How a request's tokens are chosen and when it stops: vLLM's SamplingParams.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/status.h"
#include "request/structured_output_params.h"

namespace quire {

// What the outputs of a request hold.
enum class OutputKind {
  kCumulative,  // everything so far
  kDelta,       // what is new
  kFinalOnly,   // one output, at the end
};

inline constexpr double kGreedyTemperature = 1e-5;  // below it the best token is taken
inline constexpr double kMinTemperature = 1e-2;     // lower ones are raised to it
inline constexpr int kAllLogprobs = -1;             // logprobs of the whole vocabulary

// Bounds of what one request may ask for; vLLM's where it has one.
inline constexpr int kMaxOutputs = 16384;
inline constexpr int kMaxLogprobTokenIds = 128;
inline constexpr int kMaxStopStrings = 1024;
inline constexpr int kMaxBadWords = 128;
inline constexpr int kMaxBadWordsTokens = 1024;  // of all bad words together
inline constexpr int kMaxPatternSize = 2048;     // of repetition_detection

// When output that repeats itself is ended: its last tokens are `min_count` times the same pattern
// of a size in [min_pattern_size, max_pattern_size].
struct RepetitionDetection {
  int max_pattern_size = 0;  // [0, kMaxPatternSize]; 0: off
  int min_pattern_size = 0;  // <= max_pattern_size; 0: 1
  int min_count = 0;         // >= 2, unless it is off

  friend bool operator==(const RepetitionDetection&, const RepetitionDetection&) = default;
};

// Field names, defaults and ranges are vLLM's.
struct SamplingParams {
  int n = 1;                        // outputs of one prompt, [1, 16384]
  double temperature = 1.0;         // [0, 2], below kGreedyTemperature: greedy
  double top_p = 1.0;               // (0, 1]
  int top_k = 0;                    // 0 and -1: off
  double min_p = 0.0;               // [0, 1], of the best token's probability
  double typical_p = 1.0;           // (0, 1], 1: off (not in vLLM)
  double presence_penalty = 0.0;    // [-2, 2]
  double frequency_penalty = 0.0;   // [-2, 2]
  double repetition_penalty = 1.0;  // > 0
  std::optional<std::uint64_t> seed;
  std::vector<std::string> stop;  // no empty ones
  std::vector<TokenId> stop_token_ids;
  bool ignore_eos = false;
  std::optional<int> max_tokens = 16;      // nullopt: what is left of the context
  int min_tokens = 0;                      // <= max_tokens
  std::optional<int> logprobs;             // best ones beside each token's own; kAllLogprobs
  std::optional<int> prompt_logprobs;      // the same for the prompt's tokens
  std::vector<TokenId> logprob_token_ids;  // these too, at most 128
  bool detokenize = true;
  bool skip_special_tokens = true;
  bool spaces_between_special_tokens = true;
  bool include_stop_str_in_output = false;
  std::vector<std::pair<TokenId, float>> logit_bias;  // clamped to [-100, 100]
  std::optional<std::vector<TokenId>> allowed_token_ids;
  std::vector<std::string> bad_words;
  std::vector<std::vector<TokenId>> bad_words_ids;  // made from bad_words by the input processor
  std::optional<int> truncate_prompt_tokens;        // the last so many; -1: as many as fit
  std::optional<RepetitionDetection> repetition_detection;
  std::optional<int> thinking_token_budget;  // tokens of the reasoning; nullopt and -1: no bound
  OutputKind output_kind = OutputKind::kCumulative;
  std::shared_ptr<const StructuredOutputParams> structured_outputs;  // null: any text

  bool is_greedy() const { return temperature < kGreedyTemperature; }
  bool bounds_thinking() const { return thinking_token_budget.value_or(-1) != -1; }

  // The range of each field alone and against the others; `vocab_size` bounds ids, `max_logprobs`
  // the counts (kAllLogprobs: no bound). Names the field, the value and what is accepted.
  Status Validate(int vocab_size, int max_logprobs) const;

  // The same request in its neutral form: what means "off" has one value, greedy ones lose top_p,
  // top_k, min_p and typical_p, low temperatures are raised to kMinTemperature, biases clamped; of
  // a token's biases the last one counts, stop tokens stand once.
  SamplingParams Normalized() const;
};

}  // namespace quire
