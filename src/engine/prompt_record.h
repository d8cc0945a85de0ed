// What the output side keeps of one prompt while its answers grow.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/answer_stats.h"
#include "engine/completion.h"
#include "metrics/trace_ring.h"
#include "request/request.h"
#include "tokenizer/tokenizer.h"

namespace quire {

// The last output of a prompt that never came to the scheduler.
RequestOutput LastOutput(std::string request_id, Status error);

// Made by whoever prepared the prompt, then owned by the output side. One thread at a time.
class PromptRecord {
 public:
  // `requests` are the prompt's answers, as FanOut gave them. kInvalidArgument for stop strings
  // that are too long. `tokenizer` may be null and outlives the record. Deltas after an answer's
  // first wait until it has `stream_interval` tokens more.
  static Result<std::unique_ptr<PromptRecord>> Create(const Tokenizer* tokenizer,
                                                      std::string request_id,
                                                      std::span<const EngineRequest> requests,
                                                      int stream_interval = 1);

  const std::string& request_id() const { return request_id_; }
  const std::vector<Completion>& completions() const { return completions_; }
  bool is_finished() const { return num_finished_ == completions_.size(); }

  // Reading the prompt took this long.
  void NoteTokenized(std::chrono::steady_clock::time_point begin,
                     std::chrono::steady_clock::time_point end);
  // What RequestOutput::warning says from now on.
  void Warn(std::string warning) { warning_ = std::move(warning); }
  void NoteQueued(std::chrono::steady_clock::time_point now);
  // Answer `index` got into a step: for the first time, or again after a preemption.
  void NoteScheduled(std::size_t index, std::chrono::steady_clock::time_point now);
  void NotePrefill(const TraceSpan& chunk) { trace_.Add(chunk); }

  // Takes in what one step brought to answer `index`. Gives true when a stop string ended it here,
  // while the engine still goes on.
  bool Append(std::size_t index, const EngineCoreOutput& output,
              std::chrono::steady_clock::time_point now);

  // Whether MakeOutput is due, by what came since its last call and the OutputKind.
  bool has_report() const;
  RequestOutput MakeOutput();

  const AnswerStats& stats(std::size_t index) const { return stats_[index]; }
  int num_generated() const;  // of the longest answer
  // Of a finished prompt, but for the last of its outputs on their way to the caller.
  RequestTrace TakeTrace();

  // The last output of a prompt that ends with an error, or with an abort where `error` is ok.
  RequestOutput Fail(const Status& error);

 private:
  PromptRecord() = default;
  RequestOutput Describe();

  std::string request_id_;
  OutputKind kind_ = OutputKind::kCumulative;
  int stream_interval_ = 1;
  std::vector<TokenId> prompt_token_ids_;
  std::vector<PositionLogprobs> prompt_logprobs_;
  std::vector<Completion> completions_;
  std::vector<AnswerStats> stats_;  // one an answer
  std::size_t num_finished_ = 0;
  int num_cached_tokens_ = 0;
  RequestTimes times_;
  RequestTrace trace_;
  Status error_;
  std::string warning_;
  bool has_news_ = false;
  bool has_told_prompt_ = false;  // deltas give the prompt's ids once
};

}  // namespace quire
