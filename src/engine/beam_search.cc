#include "engine/beam_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/strings.h"
#include "tokenizer/detokenizer.h"

namespace quire {
namespace {

struct Beam {
  std::vector<TokenId> tokens;  // after the prompt
  double cumulative_logprob = 0.0;
};

class Search {
 public:
  Search(Llm& llm, const PromptInput& prompt, const BeamSearchParams& params)
      : llm_(llm), prompt_(prompt), params_(params), beams_(1) {}

  Result<std::vector<BeamAnswer>> Run() {
    for (int step = 0; step < params_.max_tokens && !beams_.empty(); ++step) {
      QUIRE_RETURN_IF_ERROR(Extend());
      if (IsDecided()) beams_.clear();
    }
    for (const Beam& beam : beams_) Complete(beam, FinishReason::kLength);
    std::ranges::stable_sort(answers_, std::ranges::greater(), &BeamAnswer::score);
    if (answers_.size() > Width()) answers_.resize(Width());
    for (BeamAnswer& answer : answers_) answer.text = TextOf(answer.token_ids);
    return std::move(answers_);
  }

 private:
  std::size_t Width() const { return static_cast<std::size_t>(params_.width); }

  double Score(double cumulative_logprob, std::size_t length) const {
    return cumulative_logprob / std::pow(static_cast<double>(length), params_.length_penalty);
  }

  void Complete(const Beam& beam, FinishReason reason) {
    if (beam.tokens.empty()) return;
    const std::size_t length = beam.tokens.size() - (reason == FinishReason::kStop ? 1 : 0);
    answers_.push_back({.token_ids = beam.tokens,
                        .text = "",
                        .cumulative_logprob = beam.cumulative_logprob,
                        .score = Score(beam.cumulative_logprob, std::max<std::size_t>(1, length)),
                        .finish_reason = reason});
  }

  // Asks for the best next tokens of each beam and keeps the best beams that come of them.
  Status Extend() {
    std::vector<PromptInput> inputs;
    for (const Beam& beam : beams_) inputs.push_back(Ask(beam));
    const std::vector<RequestOutput> outputs = llm_.Generate(std::move(inputs), {});
    std::vector<Beam> candidates;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      QUIRE_RETURN_IF_ERROR(outputs[i].error);
      if (prompt_ids_.empty()) prompt_ids_ = outputs[i].prompt_token_ids;
      const PositionLogprobs& logprobs = outputs[i].outputs.at(0).logprobs.at(0);
      // The first entry is the drawn token, which stands among the best ones again.
      for (std::size_t j = 1; j < logprobs.entries.size(); ++j) {
        Beam next = beams_[i];
        next.tokens.push_back(logprobs.entries[j].token);
        next.cumulative_logprob += static_cast<double>(logprobs.entries[j].logprob);
        if (IsEnd(next.tokens.back())) {
          Complete(next, FinishReason::kStop);
        } else {
          candidates.push_back(std::move(next));
        }
      }
    }
    std::ranges::stable_sort(candidates, std::ranges::greater(), &Beam::cumulative_logprob);
    if (candidates.size() > Width()) candidates.resize(Width());
    beams_ = std::move(candidates);
    KeepWhatFits();
    return {};
  }

  PromptInput Ask(const Beam& beam) const {
    PromptInput input;
    if (prompt_ids_.empty()) {
      input = prompt_;
    } else {
      input.token_ids = prompt_ids_;
      input.token_ids->insert(input.token_ids->end(), beam.tokens.begin(), beam.tokens.end());
    }
    input.sampling = SamplingParams();
    input.sampling.truncate_prompt_tokens =
        prompt_ids_.empty() ? prompt_.sampling.truncate_prompt_tokens : std::nullopt;
    input.sampling.temperature = 0.0;
    input.sampling.max_tokens = 1;
    input.sampling.logprobs = 2 * params_.width;
    input.sampling.detokenize = false;
    input.cache_salt = prompt_.cache_salt;
    return input;
  }

  // Beams that fill the context end here.
  void KeepWhatFits() {
    const auto longest = static_cast<std::size_t>(llm_.decisions().plan.max_model_len) - 1;
    std::erase_if(beams_, [&](const Beam& beam) {
      if (prompt_ids_.size() + beam.tokens.size() <= longest) return false;
      Complete(beam, FinishReason::kLength);
      return true;
    });
  }

  bool IsEnd(TokenId token) const {
    return !params_.ignore_eos &&
           std::ranges::find(llm_.eos_token_ids(), token) != llm_.eos_token_ids().end();
  }

  // Whether no beam can come before the `width` best answers any more.
  bool IsDecided() const {
    if (answers_.size() < Width() || beams_.empty()) return false;
    if (params_.early_stopping) return true;
    std::vector<double> scores;
    for (const BeamAnswer& answer : answers_) scores.push_back(answer.score);
    const auto last = scores.begin() + (params_.width - 1);
    std::ranges::nth_element(scores, last, std::ranges::greater());
    // A logprob only falls; its share falls or rises with the length by the sign of the penalty.
    const std::size_t length = params_.length_penalty > 0.0
                                   ? static_cast<std::size_t>(params_.max_tokens)
                                   : beams_.front().tokens.size();
    return Score(beams_.front().cumulative_logprob, length) <= *last;
  }

  std::string TextOf(const std::vector<TokenId>& tokens) const {
    if (!llm_.has_tokenizer()) return "";
    DecodeOptions options;
    options.skip_special_tokens = prompt_.sampling.skip_special_tokens;
    IncrementalDetokenizer detokenizer(llm_.tokenizer(), options);
    for (const TokenId id : prompt_ids_) detokenizer.Skip(id);
    std::string text;
    for (const TokenId id : tokens) text += detokenizer.Append(id);
    return text + detokenizer.Finish();
  }

  Llm& llm_;
  const PromptInput& prompt_;
  const BeamSearchParams& params_;
  std::vector<TokenId> prompt_ids_;  // known after the first step
  std::vector<Beam> beams_;          // the most probable first
  std::vector<BeamAnswer> answers_;
};

}  // namespace

Result<std::vector<BeamAnswer>> BeamSearch(Llm& llm, const PromptInput& prompt,
                                           const BeamSearchParams& params) {
  constexpr int kMaxWidth = 1024;
  if (params.width < 1 || params.width > kMaxWidth) {
    return InvalidArgument(
        StrCat("beam_width: must be in [1, ", kMaxWidth, "], got ", params.width));
  }
  if (params.max_tokens < 1) {
    return InvalidArgument(StrCat("max_tokens: must be positive, got ", params.max_tokens));
  }
  if (!std::isfinite(params.length_penalty)) {
    return InvalidArgument("length_penalty: must be a finite number");
  }
  return Search(llm, prompt, params).Run();
}

}  // namespace quire
