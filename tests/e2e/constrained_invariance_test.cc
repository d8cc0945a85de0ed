// Batch invariance of constrained requests: what they get does not depend on company, on how the
// prompt is cut, or on preemption.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "invariance.h"
#include "tiny_model.h"

namespace quire {
namespace {

std::string TinyModel() {
  const std::string folder = testing::TempDir() + "quire_tiny_constrained";
  EXPECT_TRUE(WriteTinyModel(folder).ok());
  EXPECT_TRUE(WriteTinyTokenizer(folder).ok());
  return folder;
}

std::shared_ptr<const StructuredOutputParams> Constraint(int number) {
  StructuredOutputParams params;
  switch (number % 5) {
    case 0:
      return nullptr;
    case 1:
      params.text =
          R"({"type":"object","properties":{"name":{"type":"string","maxLength":8},"age":)"
          R"({"type":"integer","minimum":0,"maximum":99}},"required":["name","age"],)"
          R"("additionalProperties":false})";
      params.disable_any_whitespace = true;
      break;
    case 2:
      params.kind = ConstraintKind::kRegex;
      params.text = "(ab|cd){3,6}, and so on [a-z]{4,}";
      break;
    case 3:  // has long stretches without a choice
      params.kind = ConstraintKind::kChoice;
      params.choices = {"the first of the two answers", "the second of them"};
      break;
    default:
      params.kind = ConstraintKind::kGrammar;
      params.text = "root ::= \"(\" root \")\" | [0-9]{2}\n";
      break;
  }
  return std::make_shared<const StructuredOutputParams>(std::move(params));
}

std::vector<PromptInput> ConstrainedPrompts(int count) {
  std::vector<PromptInput> prompts = MixedPrompts(count, kTinyVocab, 90, 21);
  for (int i = 0; i < count; ++i) {
    PromptInput& prompt = prompts[static_cast<std::size_t>(i)];
    prompt.sampling.structured_outputs = Constraint(i);
    prompt.sampling.max_tokens = 60;
    prompt.sampling.ignore_eos = false;
  }
  return prompts;
}

TEST(ConstrainedInvariance, HoldsForEveryCutOfThePromptAndAnyCompany) {
  const auto prompts = ConstrainedPrompts(15);
  EngineConfig config = InvarianceConfig(TinyModel());
  const auto alone = RunAlone(config, prompts);
  ExpectSame(alone, RunTogether(*OpenLlm(config), prompts, 0), "together");
  for (const int budget : {7, 40}) {
    config.scheduler.max_num_batched_tokens = budget;
    config.scheduler.max_num_seqs = std::min(budget, 8);
    ExpectSame(alone, RunTogether(*OpenLlm(config), prompts, 3), StrCat("budget ", budget));
  }
}

TEST(ConstrainedInvariance, HoldsThroughPreemptionAndWithAWarmPrefixCache) {
  const auto prompts = ConstrainedPrompts(15);
  EngineConfig config = InvarianceConfig(TinyModel());
  const auto alone = RunAlone(config, prompts);
  config.cache.num_gpu_blocks_override = 14;
  config.model.max_model_len = "160";
  const auto crowded = OpenLlm(config);
  ExpectSame(alone, RunTogether(*crowded, prompts, 0), "crowded");
  EXPECT_GT(crowded->stats().num_preemptions, 0);
  config.cache.enable_prefix_caching = true;
  const auto llm = OpenLlm(config);
  for (const char* how : {"cold", "warm"}) ExpectSame(alone, RunTogether(*llm, prompts, 4), how);
}

}  // namespace
}  // namespace quire
