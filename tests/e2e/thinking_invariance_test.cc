// Batch invariance of requests with a budget of their reasoning: where it ends, and what comes
// after it, does not depend on company, on how the prompt is cut, on preemption, on the prefix
// cache or on drafts.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "engine/load_tokenizer.h"
#include "exec/executor.h"
#include "invariance.h"
#include "tiny_model.h"

namespace quire {
namespace {

constexpr int kNumPrompts = 18;

std::string TinyModel(int window = 0) {
  std::string folder = testing::TempDir() + StrCat("quire_tiny_thinking_", window);
  EXPECT_TRUE(WriteTinyModel(folder, window).ok());
  EXPECT_TRUE(WriteTinyTokenizer(folder).ok());
  return folder;
}

void Constrain(PromptInput& prompt) {
  StructuredOutputParams params;
  params.text = R"({"type":"object","properties":{"name":{"type":"string","maxLength":8},"color":)"
                R"({"enum":["ultramarine","vermilion"]}},"required":["name","color"],)"
                R"("additionalProperties":false})";
  params.disable_any_whitespace = true;
  params.reasoning = prompt.reasoning;
  prompt.sampling.structured_outputs =
      std::make_shared<const StructuredOutputParams>(std::move(params));
  prompt.sampling.ignore_eos = false;
}

// One of six kinds of reasoning, told by the prompt's number.
void SetReasoning(int number, PromptInput& prompt) {
  prompt.reasoning = ReasoningMarkers{.begin = "<think>", .end = "</think>"};
  prompt.sampling.thinking_token_budget = number % 7;
  prompt.sampling.max_tokens = 50;
  prompt.sampling.logprobs = 2;
  switch (number % 6) {
    case 0:  // none, beside the others
      prompt.reasoning.reset();
      prompt.sampling.thinking_token_budget.reset();
      break;
    case 1:
      prompt.reasoning->begins_unmarked = true;
      break;
    case 2:  // opened by the prompt
      for (const char byte : prompt.reasoning->begin) prompt.token_ids->push_back(byte);
      break;
    case 3:  // opened by the answer
      prompt.reasoning->begin = "x";
      prompt.sampling.logit_bias = {{'x', 60.0F}};
      break;
    case 4:
      prompt.reasoning->begins_unmarked = true;
      Constrain(prompt);
      break;
    default:  // used up before it begins
      prompt.reasoning->begins_unmarked = true;
      prompt.sampling.thinking_token_budget = 0;
      Constrain(prompt);
      break;
  }
}

std::vector<PromptInput> ThinkingPrompts() {
  std::vector<PromptInput> prompts = MixedPrompts(kNumPrompts, kTinyVocab, 90, 31);
  for (int i = 0; i < kNumPrompts; ++i) SetReasoning(i, prompts[static_cast<std::size_t>(i)]);
  return prompts;
}

// Where the marker of the end stands in the answer, which is made of single bytes.
std::size_t EndOf(const Answer& answer) {
  const std::string end = "</think>";
  const auto found =
      std::search(answer.tokens.begin(), answer.tokens.end(), end.begin(), end.end());
  return static_cast<std::size_t>(found - answer.tokens.begin());
}

TEST(ThinkingInvariance, ItsBudgetsDoEndTheReasoning) {
  const auto prompts = ThinkingPrompts();
  const auto answers = RunAlone(InvarianceConfig(TinyModel()), prompts);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_EQ(answers[i].error, "");
    const auto& budget = prompts[i].sampling.thinking_token_budget;
    const std::size_t num_before = i % 6 == 3 ? 1 : 0;  // the marker of the beginning
    const std::size_t expected =
        budget ? static_cast<std::size_t>(*budget) + num_before : answers[i].tokens.size();
    EXPECT_EQ(EndOf(answers[i]), expected) << i;
  }
}

TEST(ThinkingInvariance, HoldsForEveryCutOfThePromptAndAnyCompany) {
  const auto prompts = ThinkingPrompts();
  for (const int window : {0, 24}) {
    EngineConfig config = InvarianceConfig(TinyModel(window));
    const auto alone = RunAlone(config, prompts);
    ExpectSame(alone, RunTogether(*OpenLlm(config), prompts, 0), "together");
    for (const int budget : {1, 7, 40}) {
      config.scheduler.max_num_batched_tokens = budget;
      config.scheduler.max_num_seqs = std::min(budget, 8);
      ExpectSame(alone, RunTogether(*OpenLlm(config), prompts, 3), StrCat("budget ", budget));
    }
  }
}

TEST(ThinkingInvariance, HoldsThroughPreemptionAndWithAWarmPrefixCache) {
  const auto prompts = ThinkingPrompts();
  EngineConfig config = InvarianceConfig(TinyModel());
  const auto alone = RunAlone(config, prompts);
  config.cache.num_gpu_blocks_override = 14;
  config.model.max_model_len = "160";
  config.scheduler.max_num_batched_tokens = 24;
  config.scheduler.max_num_seqs = 16;
  const auto crowded = OpenLlm(config);
  ExpectSame(alone, RunTogether(*crowded, prompts, 0), "crowded");
  EXPECT_GT(crowded->stats().num_preemptions, 0);
  config.cache.enable_prefix_caching = true;
  config.cache.num_gpu_blocks_override = 160;
  const auto llm = OpenLlm(config);
  for (const char* how : {"cold", "warm"}) ExpectSame(alone, RunTogether(*llm, prompts, 4), how);
  EXPECT_GT(llm->stats().prefix_hits, 0);
}

// Proposes drafts for every request, as a drafter does: what `alone` would say next, every third
// time with a wrong token in it. Requests are numbered as `alone` is.
class Drafting : public Executor {
 public:
  Drafting(std::unique_ptr<Executor> under, const std::vector<Answer>& alone)
      : under_(std::move(under)), alone_(&alone), num_said_(alone.size()) {}

  const ModelFacts& facts() const override { return under_->facts(); }
  Status InitKvCache(const KvCachePlan& plan) override { return under_->InitKvCache(plan); }
  Status Begin(const StepPlan& plan) override { return under_->Begin(plan); }
  Status Finish(const StepPlan& plan, const StepMasks& masks, StepResult& out) override {
    Status status = under_->Finish(plan, masks, out);
    for (std::size_t i = 0; i < out.rows.size(); ++i) {
      const auto num_accepted =
          static_cast<int>(std::max<std::size_t>(out.rows[i].tokens.size(), 1) - 1);
      num_accepted_ += num_accepted;
      if (IsThinking(out.rows[i].id)) num_accepted_thinking_ += num_accepted;
      num_refused_ += out.rows[i].tokens.size() < plan.rows[i].draft_tokens.size() + 1 ? 1 : 0;
      EXPECT_TRUE(plan.rows[i].forced_token < 0 || plan.rows[i].draft_tokens.empty());
      Propose(out.rows[i]);
    }
    return status;
  }

  int num_accepted() const { return num_accepted_; }
  int num_accepted_thinking() const { return num_accepted_thinking_; }
  int num_refused() const { return num_refused_; }

 private:
  std::size_t NumberOf(RequestId id) const {
    return static_cast<std::size_t>(id.value()) % alone_->size();
  }

  bool IsThinking(RequestId id) const {
    const Answer& answer = (*alone_)[NumberOf(id)];
    const std::size_t end = EndOf(answer);
    return end < answer.tokens.size() && num_said_[NumberOf(id)] < end;
  }

  void Propose(RowResult& row) {
    const std::size_t number = NumberOf(row.id);
    const std::vector<TokenId>& tokens = (*alone_)[number].tokens;
    std::size_t& num_said = num_said_[number];
    num_said += row.tokens.size();
    row.draft_tokens.clear();
    if (row.tokens.empty()) return;
    for (std::size_t i = num_said; i < std::min(num_said + 3, tokens.size()); ++i) {
      row.draft_tokens.push_back(i % 3 == 0 ? (tokens[i] + 1) % kTinyVocab : tokens[i]);
    }
  }

  const std::unique_ptr<Executor> under_;
  const std::vector<Answer>* alone_;
  std::vector<std::size_t> num_said_;  // tokens of each answer so far
  int num_accepted_ = 0;               // drafts
  int num_accepted_thinking_ = 0;      // of them, in reasoning that has a budget
  int num_refused_ = 0;                // steps of a request that did not take all of them
};

TEST(ThinkingInvariance, HoldsWithDraftsRightAndWrong) {
  const auto prompts = ThinkingPrompts();
  EngineConfig config = InvarianceConfig(TinyModel());
  const auto alone = RunAlone(config, prompts);
  const auto tokenizer = LoadTokenizer(config.model.model);
  ASSERT_TRUE(tokenizer.ok());
  for (const int budget : {16, 512}) {
    config.scheduler.max_num_batched_tokens = budget;
    auto inner = CreateInlineExecutor(config, {});
    ASSERT_TRUE(inner.ok()) << inner.status().message();
    auto executor = std::make_unique<Drafting>(*std::move(inner), alone);
    const Drafting& drafting = *executor;
    const auto llm = Llm::CreateOver(config, std::move(executor), *tokenizer);
    ASSERT_TRUE(llm.ok()) << llm.status().message();
    ExpectSame(alone, RunTogether(**llm, prompts, 0), StrCat("drafts, budget ", budget));
    EXPECT_GT(drafting.num_accepted(), 20);
    EXPECT_GT(drafting.num_accepted_thinking(), 5);
    EXPECT_GT(drafting.num_refused(), 10);
  }
}

}  // namespace
}  // namespace quire
