// One answer as it grows: its tokens, their text, and where a stop string ends it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "request/request.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/stop_strings.h"
#include "tokenizer/tokenizer.h"

namespace quire {

// One thread. The tokenizer, which may be null, outlives it.
class Completion {
 public:
  static Result<Completion> Create(const Tokenizer* tokenizer, const EngineRequest& request,
                                   int index);

  // Takes in one step's tokens; what comes after a stop string is dropped, with its logprobs.
  // Gives true when a stop string ended the answer here, while the engine still goes on.
  bool Append(const EngineCoreOutput& output);

  bool is_finished() const { return so_far_.finish_reason.has_value(); }
  RequestId request_id() const { return request_id_; }

  // Everything so far.
  const CompletionOutput& so_far() const { return so_far_; }
  // What came since the last call, which is then forgotten here.
  CompletionOutput TakeDelta();
  bool has_news() const { return has_news_; }
  // Whether there is enough for a delta: the first news, `interval` tokens or the end.
  bool has_delta(int interval) const {
    return has_news_ && (is_finished() || !has_told_ ||
                         so_far_.token_ids.size() >= static_cast<std::size_t>(interval));
  }

 private:
  Completion() = default;
  void AppendText(std::string_view text);
  bool IsHidden(const EngineCoreOutput& output, std::size_t token_idx) const;
  void Finish(const EngineCoreOutput& output);
  bool CheckStop();

  RequestId request_id_;
  std::vector<TokenId> eos_token_ids_;
  std::size_t min_tokens_ = 0;
  std::size_t num_tokens_ = 0;  // so_far_'s may have been taken
  bool skip_special_tokens_ = true;
  bool has_news_ = false;
  bool has_told_ = false;  // a delta was taken
  std::optional<IncrementalDetokenizer> detokenizer_;
  std::optional<StopStrings> stops_;
  CompletionOutput so_far_;
};

}  // namespace quire
