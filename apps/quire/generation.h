// What a prompt brought, gathered from the engine's outputs, and how it is shown.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "formats/json.h"
#include "request/request.h"
#include "tokenizer/tokenizer.h"

namespace quire {

using Clock = std::chrono::steady_clock;

// One prompt's answers as they grow. One thread.
class Generation {
 public:
  Generation() : start_(Clock::now()) {}

  // Takes in an output of OutputKind::kDelta.
  void Add(const RequestOutput& output);
  // Ends it without outputs: the prompt was refused.
  void Fail(Status status);

  bool is_finished() const { return is_finished_; }
  const Status& status() const { return status_; }
  const std::vector<CompletionOutput>& answers() const { return answers_; }
  std::int64_t num_prompt_tokens() const { return num_prompt_tokens_; }
  std::int64_t num_tokens() const;  // of all answers

  double seconds_to_first_token() const;
  double seconds() const;  // from the start to the last output
  // Tokens after the first a second; of all answers together.
  double tokens_per_second() const;

  // {"text", "token_ids", "finish_reason", "stop_reason", "cumulative_logprob"?, "logprobs"?,
  // "prompt_logprobs"?, "outputs"? (all answers where n > 1), "usage", "timings"}, or {"error"}.
  // Without a tokenizer, tokens have no "decoded_token".
  Json ToJson(const Tokenizer* tokenizer, const SamplingParams& sampling) const;

  // "prompt: 5 tokens; answer: 16 tokens, 61.3 tokens/s; first token after 0.05 s"
  std::string SpeedLine() const;

 private:
  Clock::time_point start_;
  Clock::time_point first_token_;
  Clock::time_point last_output_;
  bool is_finished_ = false;
  Status status_;
  std::vector<CompletionOutput> answers_;
  std::vector<PositionLogprobs> prompt_logprobs_;
  std::vector<TokenId> prompt_token_ids_;
  std::int64_t num_prompt_tokens_ = 0;
  int num_cached_tokens_ = 0;
};

}  // namespace quire
