// The log lines of --enable-log-requests and --enable-log-outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "request/request.h"
#include "tokenizer/tokenizer.h"

namespace quire {

// `request ID: 12 prompt tokens, {"temperature":0.5,…}`, the parameters that are not their
// defaults.
std::string RequestLine(const std::string& id, const EngineRequest& request);

// `request ID: prompt: "…", ids: 1, 2, …`: at most `limit` bytes of the text, none without a
// tokenizer, and at most as many ids.
std::string PromptLine(const std::string& id, const EngineRequest& request,
                       const Tokenizer* tokenizer, std::size_t limit);

// Writes the first, and where the level is debug the second. `max_log_len` unset: a limit of 2048.
void LogRequest(const std::string& id, const EngineRequest& request, const Tokenizer* tokenizer,
                std::optional<std::int64_t> max_log_len);

// Puts the outputs of requests together and makes a line of each answer that has ended:
// `request ID: answer 0: "…", ids: 1, 2, …; 12 tokens, stop`. Keeps of an answer that grows no more
// than is shown of it. Any thread, the outputs of one request in their order.
class AnswerLog {
 public:
  // `max_log_len` as above: the most bytes of an answer's text, and the most of its ids.
  explicit AnswerLog(std::optional<std::int64_t> max_log_len);

  // The lines of what ended with `output`; most often none.
  std::vector<std::string> Hear(const RequestOutput& output) QUIRE_EXCLUDES(mutex_);

 private:
  struct Answer {
    std::string text;
    std::vector<TokenId> ids;
    std::size_t num_text_bytes = 0;
    std::size_t num_ids = 0;
  };
  using Answers = std::unordered_map<int, Answer>;
  void Take(const CompletionOutput& delta, Answer& answer) const;
  std::string Line(const std::string& id, const CompletionOutput& last, const Answer& answer) const;

  const std::size_t limit_;
  Mutex mutex_;
  std::unordered_map<std::string, Answers> live_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire
