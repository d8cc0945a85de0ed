// The most probable answers instead of drawn ones.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/status.h"
#include "engine/llm.h"
#include "engine/prompt.h"
#include "request/request.h"
#include "tokenizer/tokenizer.h"

namespace quire {

struct BeamSearchParams {
  int width = 4;  // answers kept at each token, and given in the end
  int max_tokens = 16;
  bool ignore_eos = false;
  // An answer's score is its cumulative logprob over (its length to this power); more favours
  // longer ones.
  double length_penalty = 1.0;
  // Ends as soon as `width` answers are complete. Off: not before no beam can still win.
  bool early_stopping = false;
};

struct BeamAnswer {
  std::vector<TokenId> token_ids;  // the end-of-sequence token included
  std::string text;
  double cumulative_logprob = 0.0;
  double score = 0.0;
  FinishReason finish_reason = FinishReason::kLength;
};

// What a search must know of the model.
struct BeamModel {
  const Tokenizer* tokenizer = nullptr;  // null: answers have no text; outlives the search
  std::vector<TokenId> eos_token_ids;
  int max_model_len = 0;
};

// A search a step at a time, for whoever drives the engine. One thread at a time.
class BeamSteps {
 public:
  // kInvalidArgument names the parameter.
  static Result<BeamSteps> Create(PromptInput prompt, const BeamSearchParams& params,
                                  BeamModel model);

  // What the engine is to answer next, all with one token; none when the search is over.
  std::vector<PromptInput> NextPrompts() const;
  // The outputs of those, in order. The first that failed ends the search.
  Status Take(std::span<const RequestOutput> outputs);

  // Of the prompt; known after the first step.
  const std::vector<TokenId>& prompt_token_ids() const { return prompt_ids_; }
  // The best answers, the best first; once the search is over.
  std::vector<BeamAnswer> TakeAnswers();

 private:
  struct Beam {
    std::vector<TokenId> tokens;  // after the prompt
    double cumulative_logprob = 0.0;
  };

  BeamSteps(PromptInput prompt, const BeamSearchParams& params, BeamModel model);
  std::size_t width() const { return static_cast<std::size_t>(params_.width); }
  double Score(double cumulative_logprob, std::size_t length) const;
  void Complete(const Beam& beam, FinishReason reason);
  PromptInput Ask(const Beam& beam) const;
  void Keep(std::vector<Beam> candidates);
  bool IsEnd(TokenId token) const;
  bool IsDecided() const;
  std::string TextOf(const std::vector<TokenId>& tokens) const;

  PromptInput prompt_;
  BeamSearchParams params_;
  BeamModel model_;
  int num_steps_ = 0;
  std::vector<TokenId> prompt_ids_;
  std::vector<Beam> beams_;  // the most probable first
  std::vector<BeamAnswer> answers_;
};

// The best answers to `prompt`, the best first. Each step asks for one token of every beam; beams
// share the blocks of what they have in common through the prefix cache, and a dropped beam's
// blocks are free at once. Of prompt.sampling only truncate_prompt_tokens and skip_special_tokens
// count. kInvalidArgument for a width of which max-logprobs does not allow twice as many.
// Prompts submitted before go on beside it, and their outputs are lost.
Result<std::vector<BeamAnswer>> BeamSearch(Llm& llm, const PromptInput& prompt,
                                           const BeamSearchParams& params);

}  // namespace quire
