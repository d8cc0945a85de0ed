// Runs requests through the engine in many ways and compares their answers bit for bit.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/engine_config.h"
#include "engine/llm.h"
#include "engine/prompt.h"

namespace quire {

// An answer reduced to what must never change: tokens, and the bits of every logprob.
struct Answer {
  std::vector<TokenId> tokens;
  std::vector<std::uint64_t> logprobs;  // token and bits of each entry, prompt's first
  std::string error;

  friend bool operator==(const Answer&, const Answer&) = default;
};
Answer ReduceToBits(const RequestOutput& output);

// `count` prompts of mixed lengths up to `max_prompt` tokens, some with shared beginnings, and of
// mixed sampling parameters; `seed` chooses them.
std::vector<PromptInput> MixedPrompts(int count, int vocab_size, int max_prompt,
                                      std::uint64_t seed);

// Float32, no pinning, prompts of up to the tiny model's context.
EngineConfig InvarianceConfig(const std::string& model);

// Each prompt alone in the engine, one after another, without a prefix cache.
std::vector<Answer> RunAlone(const EngineConfig& config, const std::vector<PromptInput>& prompts);

// All prompts together; with a seed other than 0 they arrive in shuffled order, a few each step.
// The engine may be used again, to find its prefix cache warm.
std::vector<Answer> RunTogether(Llm& llm, const std::vector<PromptInput>& prompts,
                                std::uint64_t shuffle_seed);

// Fails the test at each answer that has an error or differs; `how` tells what was run.
void ExpectSame(const std::vector<Answer>& expected, const std::vector<Answer>& answers,
                const std::string& how);

std::unique_ptr<Llm> OpenLlm(const EngineConfig& config);

}  // namespace quire
