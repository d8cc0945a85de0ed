#include "engine/beam_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/strings.h"
#include "tokenizer/detokenizer.h"

namespace quire {

Result<BeamSteps> BeamSteps::Create(PromptInput prompt, const BeamSearchParams& params,
                                    BeamModel model) {
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
  return BeamSteps(std::move(prompt), params, std::move(model));
}

BeamSteps::BeamSteps(PromptInput prompt, const BeamSearchParams& params, BeamModel model)
    : prompt_(std::move(prompt)), params_(params), model_(std::move(model)), beams_(1) {}

std::vector<PromptInput> BeamSteps::NextPrompts() const {
  std::vector<PromptInput> inputs;
  if (num_steps_ == params_.max_tokens) return inputs;
  inputs.reserve(beams_.size());
  for (const Beam& beam : beams_) inputs.push_back(Ask(beam));
  return inputs;
}

// Keeps the best beams that come of the best next tokens of each.
Status BeamSteps::Take(std::span<const RequestOutput> outputs) {
  std::vector<Beam> candidates;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    QUIRE_RETURN_IF_ERROR(outputs[i].error);
    if (prompt_ids_.empty()) prompt_ids_ = outputs[i].prompt_token_ids;
    if (outputs[i].outputs.empty() || outputs[i].outputs[0].logprobs.empty()) {
      return Status(Code::kCancelled, "the search was ended");
    }
    const PositionLogprobs& logprobs = outputs[i].outputs[0].logprobs[0];
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
  ++num_steps_;
  Keep(std::move(candidates));
  if (IsDecided()) beams_.clear();
  return {};
}

std::vector<BeamAnswer> BeamSteps::TakeAnswers() {
  for (const Beam& beam : beams_) Complete(beam, FinishReason::kLength);
  beams_.clear();
  std::ranges::stable_sort(answers_, std::ranges::greater(), &BeamAnswer::score);
  if (answers_.size() > width()) answers_.resize(width());
  for (BeamAnswer& answer : answers_) answer.text = TextOf(answer.token_ids);
  return std::move(answers_);
}

double BeamSteps::Score(double cumulative_logprob, std::size_t length) const {
  return cumulative_logprob / std::pow(static_cast<double>(length), params_.length_penalty);
}

void BeamSteps::Complete(const Beam& beam, FinishReason reason) {
  if (beam.tokens.empty()) return;
  const std::size_t length = beam.tokens.size() - (reason == FinishReason::kStop ? 1 : 0);
  answers_.push_back({.token_ids = beam.tokens,
                      .text = "",
                      .cumulative_logprob = beam.cumulative_logprob,
                      .score = Score(beam.cumulative_logprob, std::max<std::size_t>(1, length)),
                      .finish_reason = reason});
}

PromptInput BeamSteps::Ask(const Beam& beam) const {
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
  input.priority = prompt_.priority;
  return input;
}

// Beams that fill the context end here.
void BeamSteps::Keep(std::vector<Beam> candidates) {
  std::ranges::stable_sort(candidates, std::ranges::greater(), &Beam::cumulative_logprob);
  if (candidates.size() > width()) candidates.resize(width());
  beams_ = std::move(candidates);
  const auto longest = static_cast<std::size_t>(model_.max_model_len) - 1;
  std::erase_if(beams_, [&](const Beam& beam) {
    if (prompt_ids_.size() + beam.tokens.size() <= longest) return false;
    Complete(beam, FinishReason::kLength);
    return true;
  });
}

bool BeamSteps::IsEnd(TokenId token) const {
  return !params_.ignore_eos &&
         std::ranges::find(model_.eos_token_ids, token) != model_.eos_token_ids.end();
}

// Whether no beam can come before the `width` best answers any more.
bool BeamSteps::IsDecided() const {
  if (answers_.size() < width() || beams_.empty()) return false;
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

std::string BeamSteps::TextOf(const std::vector<TokenId>& tokens) const {
  if (model_.tokenizer == nullptr) return "";
  DecodeOptions options;
  options.skip_special_tokens = prompt_.sampling.skip_special_tokens;
  IncrementalDetokenizer detokenizer(*model_.tokenizer, options);
  for (const TokenId id : prompt_ids_) detokenizer.Skip(id);
  std::string text;
  for (const TokenId id : tokens) text += detokenizer.Append(id);
  return text + detokenizer.Finish();
}

Result<std::vector<BeamAnswer>> BeamSearch(Llm& llm, const PromptInput& prompt,
                                           const BeamSearchParams& params) {
  QUIRE_ASSIGN_OR_RETURN(
      BeamSteps steps,
      BeamSteps::Create(prompt, params,
                        {.tokenizer = llm.has_tokenizer() ? &llm.tokenizer() : nullptr,
                         .eos_token_ids = llm.eos_token_ids(),
                         .max_model_len = llm.decisions().plan.max_model_len}));
  for (auto prompts = steps.NextPrompts(); !prompts.empty(); prompts = steps.NextPrompts()) {
    QUIRE_RETURN_IF_ERROR(steps.Take(llm.Generate(std::move(prompts), {})));
  }
  return steps.TakeAnswers();
}

}  // namespace quire
