// The most probable answers instead of drawn ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/status.h"
#include "engine/llm.h"
#include "engine/prompt.h"
#include "request/request.h"

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

// The best answers to `prompt`, the best first. Each step asks for one token of every beam; beams
// share the blocks of what they have in common through the prefix cache, and a dropped beam's
// blocks are free at once. Of prompt.sampling only truncate_prompt_tokens and skip_special_tokens
// count. kInvalidArgument for a width of which max-logprobs does not allow twice as many.
// Prompts submitted before go on beside it, and their outputs are lost.
Result<std::vector<BeamAnswer>> BeamSearch(Llm& llm, const PromptInput& prompt,
                                           const BeamSearchParams& params);

}  // namespace quire
