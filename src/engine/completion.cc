#include "engine/completion.h"

#include <algorithm>
#include <utility>

namespace quire {
namespace {

// So many of a prompt's last tokens decide how the first new ones are spelled.
constexpr std::size_t kContextTokens = 16;

}  // namespace

Result<Completion> Completion::Create(const Tokenizer* tokenizer, const EngineRequest& request,
                                      int index) {
  const SamplingParams& sampling = request.sampling;
  Completion completion;
  completion.request_id_ = request.id;
  completion.eos_token_ids_ = request.eos_token_ids;
  completion.min_tokens_ = static_cast<std::size_t>(std::max(0, sampling.min_tokens));
  completion.skip_special_tokens_ = sampling.skip_special_tokens;
  completion.so_far_.index = index;
  if (tokenizer == nullptr || !sampling.detokenize) return completion;
  DecodeOptions options;
  options.skip_special_tokens = sampling.skip_special_tokens;
  options.spaces_between_special_tokens = sampling.spaces_between_special_tokens;
  completion.detokenizer_.emplace(*tokenizer, options);
  const std::span<const TokenId> prompt = request.prompt;
  for (const TokenId id : prompt.last(std::min(prompt.size(), kContextTokens))) {
    completion.detokenizer_->Skip(id);
  }
  if (!sampling.stop.empty()) {
    QUIRE_ASSIGN_OR_RETURN(completion.stops_,
                           StopStrings::Create(sampling.stop, sampling.include_stop_str_in_output));
  }
  return completion;
}

bool Completion::Append(const EngineCoreOutput& output) {
  for (std::size_t i = 0; i < output.new_tokens.size(); ++i) {
    const TokenId token = output.new_tokens[i];
    so_far_.token_ids.push_back(token);
    ++num_tokens_;
    if (i < output.new_logprobs.size()) {
      const PositionLogprobs& logprobs = output.new_logprobs[i];
      if (!logprobs.entries.empty()) so_far_.cumulative_logprob += logprobs.entries[0].logprob;
      so_far_.logprobs.push_back(logprobs);
    }
    has_news_ = true;
    if (!detokenizer_ || IsHidden(output, i)) continue;
    AppendText(detokenizer_->Append(token));
    if (CheckStop()) return !output.finish_reason;
  }
  if (output.finish_reason) Finish(output);
  return false;
}

// The end-of-sequence token is not part of the text, even where a vocabulary does not count it as
// special. A constrained answer may end by itself with a token of its text.
bool Completion::IsHidden(const EngineCoreOutput& output, std::size_t token_idx) const {
  return skip_special_tokens_ && token_idx + 1 == output.new_tokens.size() &&
         output.finish_reason == FinishReason::kStop &&
         std::holds_alternative<std::monostate>(output.stop_reason) &&
         std::ranges::find(eos_token_ids_, output.new_tokens[token_idx]) != eos_token_ids_.end();
}

void Completion::AppendText(std::string_view text) {
  // Stop strings count from the first token that may end the answer.
  if (stops_ && num_tokens_ > min_tokens_) {
    so_far_.text += stops_->Append(text);
  } else {
    so_far_.text += text;
  }
}

bool Completion::CheckStop() {
  if (!stops_ || !stops_->matched()) return false;
  so_far_.finish_reason = FinishReason::kStop;
  so_far_.stop_reason = std::string(*stops_->matched());
  return true;
}

void Completion::Finish(const EngineCoreOutput& output) {
  has_news_ = true;
  if (detokenizer_) {
    AppendText(detokenizer_->Finish());
    if (CheckStop()) return;
    if (stops_) so_far_.text += stops_->Finish();
  }
  so_far_.finish_reason = output.finish_reason;
  so_far_.stop_reason = output.stop_reason;
}

CompletionOutput Completion::TakeDelta() {
  has_news_ = false;
  has_told_ = true;
  CompletionOutput delta = std::move(so_far_);
  so_far_ = {};
  so_far_.index = delta.index;
  so_far_.cumulative_logprob = delta.cumulative_logprob;
  so_far_.finish_reason = delta.finish_reason;
  so_far_.stop_reason = delta.stop_reason;
  return delta;
}

}  // namespace quire
