// The one list of a request's sampling parameters by name: flags, JSON fields and documents are
// made from it.
#pragma once

#include <concepts>
#include <type_traits>

#include "request/sampling_params.h"

namespace quire {

// Calls visit(name, field, help) for each parameter a user may set, under vLLM's names. Not in the
// list: bad_words_ids, which is made from bad_words, and output_kind, which the caller's interface
// decides.
template <typename Params, typename Visitor>
requires std::same_as<std::remove_const_t<Params>, SamplingParams>
void VisitFields(Params& p, Visitor&& visit) {
  visit("n", p.n, "Outputs of one prompt, 1 to 16384");
  visit("temperature", p.temperature, "Randomness, 0 to 2; 0 takes the best token");
  visit("top_p", p.top_p, "Keep the best tokens that reach this probability together, (0, 1]");
  visit("top_k", p.top_k, "Keep this many of the best tokens; 0 or -1: all");
  visit("min_p", p.min_p, "Keep tokens of at least this share of the best one's probability");
  visit("typical_p", p.typical_p, "Keep the most typical tokens of this probability, (0, 1]");
  visit("presence_penalty", p.presence_penalty,
        "Taken off the logit of each token that was generated, -2 to 2");
  visit("frequency_penalty", p.frequency_penalty,
        "Taken off a token's logit each time it was generated, -2 to 2");
  visit("repetition_penalty", p.repetition_penalty,
        "Makes tokens of prompt and output less likely above 1, more likely below");
  visit("seed", p.seed, "Same seed, same output; -1: one made from the engine's seed");
  visit("stop", p.stop, "Text at which the output ends; may be given several times");
  visit("stop_token_ids", p.stop_token_ids, "Tokens at which the output ends");
  visit("ignore_eos", p.ignore_eos, "Go on after the end-of-sequence token");
  visit("max_tokens", p.max_tokens, "Most tokens to generate; none: what the context has room for");
  visit("min_tokens", p.min_tokens, "No stop before this many tokens");
  visit("logprobs", p.logprobs, "Log-probabilities of this many best tokens; -1: of all");
  visit("prompt_logprobs", p.prompt_logprobs, "The same for the tokens of the prompt");
  visit("logprob_token_ids", p.logprob_token_ids, "Log-probabilities of these tokens, at most 128");
  visit("detokenize", p.detokenize, "Turn tokens into text");
  visit("skip_special_tokens", p.skip_special_tokens, "Leave special tokens out of the text");
  visit("spaces_between_special_tokens", p.spaces_between_special_tokens,
        "Put a space between special tokens in the text");
  visit("include_stop_str_in_output", p.include_stop_str_in_output,
        "Keep the stop text at the end of the output");
  visit("logit_bias", p.logit_bias, "JSON object from token id to what is added to its logit");
  visit("allowed_token_ids", p.allowed_token_ids, "Generate only these tokens");
  visit("bad_words", p.bad_words, "Text that is never generated; may be given several times");
  visit("truncate_prompt_tokens", p.truncate_prompt_tokens,
        "Keep only so many last tokens of the prompt; -1: as many as fit");
  visit("repetition_detection", p.repetition_detection,
        "End where the last tokens are min_count times a pattern of min_ to max_pattern_size");
  visit("thinking_token_budget", p.thinking_token_budget,
        "End the reasoning after this many tokens, 0: at once; -1: never");
}

}  // namespace quire
