// From what a caller gives to what the scheduler takes: checks, tokens, limits, seeds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "config/engine_config.h"
#include "config/model_facts.h"
#include "engine/prompt.h"
#include "request/request.h"
#include "structured/grammar_cache.h"
#include "tokenizer/tokenizer.h"

namespace quire {

// Constant, so any thread may use one.
class InputProcessor {
 public:
  struct Options {
    std::int64_t vocab_size = 0;
    std::int32_t max_model_len = 0;
    int max_logprobs = 20;
    std::int64_t seed = 0;
    std::vector<TokenId> eos_token_ids;
    std::optional<int> max_new_tokens;  // that any request may generate
    StructuredOptions structured;
  };
  // `tokenizer` is null for a model without one: prompts are then ids only.
  InputProcessor(Options options, std::shared_ptr<const Tokenizer> tokenizer);

  // The request of `input`, still without an id, with sampling.n as it was given. `number` counts
  // the prompts of this engine: one without a seed gets a seed made of the engine's and its number,
  // so that the same prompts in the same order give the same answers.
  //
  //   kInvalidArgument  names the field: sampling parameters, an empty prompt, ids out of range, a
  //                     prompt that leaves no room to generate
  Result<EngineRequest> Prepare(PromptInput input, std::uint64_t number) const;

  // Whether the request still needs what CompileGrammar gives; one that was compiled before gets it
  // here.
  bool LacksGrammar(EngineRequest& request) const;
  // Gives a request with structured_outputs its grammar. May take as long as
  // grammar_compile_timeout; the errors are those of CompileConstraint (structured/compile.h).
  Status CompileGrammar(EngineRequest& request) const;

 private:
  // Where a prompt leaves the reasoning, and how many of its tokens are of it.
  struct PromptReasoning {
    ReasoningStage stage = ReasoningStage::kOver;
    int num_tokens = 0;
  };

  Result<std::vector<TokenId>> Tokenize(PromptInput& input) const;
  Status CheckIds(const std::vector<TokenId>& ids) const;
  Status FitToContext(const SamplingParams& sampling, std::vector<TokenId>& ids) const;
  Status TooLong(const std::string& num_tokens) const;
  void AddConstraintDefaults(SamplingParams& sampling) const;
  Status AddBadWords(SamplingParams& sampling) const;
  Status AddThinkingLimit(const PromptInput& input, EngineRequest& request) const;
  PromptReasoning ReasoningOf(const PromptInput& input, std::span<const TokenId> prompt) const;

  const Options options_;
  const std::shared_ptr<const Tokenizer> tokenizer_;
  const std::unique_ptr<GrammarCache> grammars_;
};

// The n requests of one prompt, with ids from `first` on; each samples one answer. Seeds count up
// from the prompt's, so the first answer is that of n = 1.
std::vector<EngineRequest> FanOut(EngineRequest request, RequestId first);

}  // namespace quire
