// Constrained requests through the whole engine, over a device that draws among allowed tokens.
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "engine/async_engine.h"
#include "engine/llm.h"
#include "engine/testing.h"
#include "exec/null_executor.h"

namespace quire {
namespace {

constexpr int kVocab = 300;
constexpr int kMaxModelLen = 128;

// Draws each token by request, place and mask alone, as a model does by its logits; end tokens are
// three times as likely as others.
class MaskedExecutor : public Executor {
 public:
  MaskedExecutor()
      : inner_(NullExecutor::SmallFacts(kVocab, kMaxModelLen),
               [this](RequestId id, std::int32_t idx) { return Draw(id, idx); }) {}

  const ModelFacts& facts() const override { return inner_.facts(); }
  Status InitKvCache(const KvCachePlan& plan) override { return inner_.InitKvCache(plan); }
  Status Execute(const StepPlan& plan, StepResult& out) override {
    plan_ = &plan;
    drawn_.clear();
    return inner_.Execute(plan, out);
  }

 private:
  TokenId Draw(RequestId id, std::int32_t idx) {
    const int draft = drawn_[id]++;
    const std::uint32_t* mask = nullptr;
    for (const ScheduledRow& row : plan_->rows) {
      if (row.id != id || row.grammar_row < 0) continue;
      const std::size_t words = (kVocab + 31) / 32;
      mask = plan_->grammar_bitmask.data() +
             (static_cast<std::size_t>(row.grammar_row + draft)) * words;
    }
    std::vector<TokenId> allowed;
    for (TokenId token = 0; token <= kTestEos; ++token) {
      if (mask != nullptr && (mask[token / 32] >> (token % 32) & 1) == 0) continue;
      allowed.insert(allowed.end(), token == kTestEos || token == '"' || token == '}' ? 3 : 1,
                     token);
    }
    if (allowed.empty()) return 0;
    const auto words = Philox(
        {static_cast<std::uint32_t>(id.value()), static_cast<std::uint32_t>(idx), 0, 0}, {7, 7});
    return allowed[words[0] % allowed.size()];
  }

  const StepPlan* plan_ = nullptr;
  std::map<RequestId, int> drawn_;
  NullExecutor inner_;
};

EngineConfig ConfigOf(int num_blocks) {
  EngineConfig config;
  config.model.model = "null";
  config.model.generation_config = "vllm";
  config.cache.num_gpu_blocks_override = num_blocks;
  config.scheduler.max_num_seqs = 16;
  config.scheduler.max_num_batched_tokens = 64;
  return config;
}

std::unique_ptr<Llm> MakeLlm(int num_blocks = 200) {
  auto llm = Llm::CreateOver(ConfigOf(num_blocks), std::make_unique<MaskedExecutor>(),
                             MakeTestTokenizer());
  EXPECT_TRUE(llm.ok()) << llm.status().message();
  return *std::move(llm);
}

PromptInput Constrained(ConstraintKind kind, std::string text, int max_tokens = 100) {
  PromptInput input;
  input.text = "prompt";
  input.sampling.max_tokens = max_tokens;
  StructuredOutputParams params;
  params.kind = kind;
  params.text = std::move(text);
  input.sampling.structured_outputs =
      std::make_shared<const StructuredOutputParams>(std::move(params));
  return input;
}

const char kSchema[] =
    R"({"type":"object","properties":{"name":{"type":"string","maxLength":6},"age":{"type":"integer","minimum":0,"maximum":120}},"required":["name","age"],"additionalProperties":false})";

PromptInput Person() {
  PromptInput input = Constrained(ConstraintKind::kJson, kSchema);
  auto params = *input.sampling.structured_outputs;
  params.disable_any_whitespace = true;
  input.sampling.structured_outputs = std::make_shared<const StructuredOutputParams>(params);
  return input;
}

void ExpectPerson(const CompletionOutput& answer) {
  EXPECT_EQ(answer.finish_reason, FinishReason::kStop) << answer.text;
  const auto parsed = ParseJson(answer.text);
  ASSERT_TRUE(parsed.ok()) << answer.text;
  EXPECT_TRUE(parsed->Find("name")->is_string());
  EXPECT_GE(parsed->Find("age")->integer(), 0);
  EXPECT_LE(parsed->Find("age")->integer(), 120);
}

TEST(StructuredOutput, EveryAnswerConformsAndEndsByItself) {
  const auto llm = MakeLlm();
  PromptInput input = Person();
  input.sampling.n = 8;
  const auto results = llm->Generate({input, Person(), Person()}, {});
  for (const RequestOutput& result : results) {
    ASSERT_TRUE(result.error.ok()) << result.error.message();
    for (const CompletionOutput& answer : result.outputs) ExpectPerson(answer);
  }
  EXPECT_EQ(results[0].outputs.size(), 8U);
}

TEST(StructuredOutput, PreemptionAndCompanyChangeNothing) {
  // Twelve requests of up to 110 tokens in 10 blocks' worth of 16: most are preempted.
  std::vector<PromptInput> prompts(12, Person());
  const auto crowded_llm = MakeLlm(12);
  const auto crowded = crowded_llm->Generate(prompts, {});
  EXPECT_GT(crowded_llm->stats().num_preemptions, 0);
  const auto roomy = MakeLlm()->Generate(prompts, {});
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    ASSERT_TRUE(crowded[i].error.ok()) << crowded[i].error.message();
    EXPECT_EQ(crowded[i].outputs[0].text, roomy[i].outputs[0].text);
    EXPECT_EQ(crowded[i].outputs[0].token_ids, roomy[i].outputs[0].token_ids);
    ExpectPerson(crowded[i].outputs[0]);
  }
}

TEST(StructuredOutput, AConstraintThatAllowsOneTextBringsThatTextInFewerSteps) {
  const auto llm = MakeLlm();
  std::vector<RequestOutput> outputs;
  ASSERT_TRUE(
      llm->Submit("a", Constrained(ConstraintKind::kRegex, "exactly this text, no other")).ok());
  int num_steps = 0;
  RequestOutput last;
  while (llm->has_unfinished()) {
    ASSERT_TRUE(llm->Step(outputs).ok());
    ++num_steps;
    if (!outputs.empty()) last = outputs.back();
  }
  EXPECT_EQ(last.outputs[0].text, "exactly this text, no other");
  EXPECT_EQ(last.outputs[0].finish_reason, FinishReason::kStop);
  EXPECT_LT(num_steps, 10);
}

TEST(StructuredOutput, ATruncatedAnswerSaysLength) {
  const auto results =
      MakeLlm()->Generate({Constrained(ConstraintKind::kRegex, "[a-z]{50}", 10)}, {});
  EXPECT_EQ(results[0].outputs[0].finish_reason, FinishReason::kLength);
  EXPECT_EQ(results[0].outputs[0].token_ids.size(), 10U);
}

TEST(StructuredOutput, MinTokensEndWhereTheGrammarDoes) {
  PromptInput input = Constrained(ConstraintKind::kRegex, "yes|no");
  input.sampling.min_tokens = 20;
  const auto results = MakeLlm()->Generate({input}, {});
  ASSERT_TRUE(results[0].error.ok()) << results[0].error.message();
  EXPECT_EQ(results[0].outputs[0].finish_reason, FinishReason::kStop);
}

TEST(StructuredOutput, AnAnswerThatIsForcedToItsLastTokenEndsWithoutAnEndTokenToo) {
  // min_tokens takes the end token away; the last step has no token more to give.
  for (const int length : {1, 2, 7, 8, 9, 16, 17}) {
    PromptInput input =
        Constrained(ConstraintKind::kRegex, std::string(static_cast<std::size_t>(length), 'x'));
    input.sampling.min_tokens = 90;
    const auto results = MakeLlm()->Generate({input}, {});
    ASSERT_TRUE(results[0].error.ok()) << results[0].error.message();
    EXPECT_EQ(results[0].outputs[0].token_ids.size(), static_cast<std::size_t>(length));
    EXPECT_EQ(results[0].outputs[0].finish_reason, FinishReason::kStop);
  }
}

TEST(StructuredOutput, AnAnswerThatCannotFitIsServedWithAWarning) {
  const auto results = MakeLlm()->Generate({Constrained(ConstraintKind::kRegex, "[a-z]{50}", 10),
                                            Constrained(ConstraintKind::kRegex, "[a-z]{50}", 51)},
                                           {});
  EXPECT_NE(results[0].warning.find("about 50 tokens, but max_tokens is 10"), std::string::npos)
      << results[0].warning;
  EXPECT_EQ(results[1].warning, "");
  EXPECT_EQ(results[1].outputs[0].finish_reason, FinishReason::kStop);
}

TEST(StructuredOutput, ReasoningGoesBeforeTheConstraintAsThePromptHasIt) {
  const auto run = [](std::string prompt, bool begins_unmarked) {
    PromptInput input = Constrained(ConstraintKind::kRegex, "[0-9]{4}", 60);
    input.text = std::move(prompt);
    auto params = *input.sampling.structured_outputs;
    params.reasoning =
        ReasoningMarkers{.begin = "(", .end = ")", .begins_unmarked = begins_unmarked};
    input.sampling.structured_outputs = std::make_shared<const StructuredOutputParams>(params);
    input.sampling.n = 8;
    std::vector<std::string> texts;
    const auto results = MakeLlm()->Generate({input}, {});
    EXPECT_TRUE(results[0].error.ok()) << results[0].error.message();
    for (const auto& answer : results[0].outputs) {
      if (answer.finish_reason == FinishReason::kStop) texts.push_back(answer.text);
    }
    return texts;
  };
  const auto is_number = [](const std::string& text) {
    return text.size() == 4 && text.find_first_not_of("0123456789") == std::string::npos;
  };
  for (const std::string& text : run("the prompt ends it ) ", false)) {
    EXPECT_TRUE(is_number(text)) << text;
  }
  for (const auto& texts : {run("the prompt opens it (", false), run("prompt", true)}) {
    for (const std::string& text : texts) {
      const std::size_t end = text.find(')');
      ASSERT_NE(end, std::string::npos) << text;
      EXPECT_TRUE(is_number(text.substr(end + 1))) << text;
    }
  }
  for (const std::string& text : run("prompt", false)) {
    EXPECT_TRUE(is_number(text) || text.starts_with("(")) << text;
  }
}

TEST(StructuredOutput, WhatTheEngineAsksOfAllConstraintsHolds) {
  EngineConfig config = ConfigOf(200);
  config.structured.config =
      *ParseJson(R"({"disable_any_whitespace":true,"disable_additional_properties":true})");
  const auto llm = Llm::CreateOver(config, std::make_unique<MaskedExecutor>(), MakeTestTokenizer());
  ASSERT_TRUE(llm.ok()) << llm.status().message();
  PromptInput input =
      Constrained(ConstraintKind::kJson,
                  R"({"properties":{"a":{"const":1}},"required":["a"],"type":"object"})");
  const auto results = (*llm)->Generate({input}, {});
  EXPECT_EQ(results[0].outputs[0].text, R"({"a": 1})") << results[0].error.message();
}

TEST(StructuredOutput, WhatCannotBeEnforcedIsRefusedAndTheOthersGoOn) {
  const auto results =
      MakeLlm()->Generate({Constrained(ConstraintKind::kJson, R"({"unevaluatedItems":false})"),
                           Person(), Constrained(ConstraintKind::kRegex, "("),
                           Constrained(ConstraintKind::kGrammar, "root ::= x")},
                          {});
  EXPECT_EQ(results[0].error.code(), Code::kInvalidArgument);
  EXPECT_NE(results[0].error.message().find("unevaluatedItems"), std::string::npos);
  ExpectPerson(results[1].outputs[0]);
  EXPECT_EQ(results[2].error.code(), Code::kInvalidArgument);
  EXPECT_EQ(results[3].error.code(), Code::kInvalidArgument);
}

TEST(StructuredOutput, TheThreadedEngineAnswersTheSameWhileBadGrammarsArrive) {
  std::vector<PromptInput> prompts(8, Person());
  const auto expected = MakeLlm()->Generate(prompts, {});
  auto engine = AsyncEngine::CreateOver(
      ConfigOf(200), {},
      []() -> Result<std::unique_ptr<Executor>> {
        return std::unique_ptr<Executor>(std::make_unique<MaskedExecutor>());
      },
      MakeTestTokenizer());
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  std::mutex mutex;
  std::map<std::string, RequestOutput> heard;
  const auto sink = [&](RequestOutput output) {
    if (!output.is_finished) return;
    const std::lock_guard lock(mutex);
    heard[output.request_id] = std::move(output);
  };
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    prompts[i].sampling.output_kind = OutputKind::kFinalOnly;
    ASSERT_TRUE((*engine)->Submit("good-" + std::to_string(i), prompts[i], sink).ok());
  }
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE((*engine)
                    ->Submit("bad-" + std::to_string(i),
                             Constrained(ConstraintKind::kRegex,
                                         "(a|b)*a(a|b){" + std::to_string(14 + i) + "}("),
                             sink)
                    .ok());
  }
  (*engine)->Drain();
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_EQ(heard["good-" + std::to_string(i)].outputs[0].text, expected[i].outputs[0].text);
  }
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(heard["bad-" + std::to_string(i)].error.ok());
}

}  // namespace
}  // namespace quire
