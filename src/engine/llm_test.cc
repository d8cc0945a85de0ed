#include "engine/llm.h"

#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "engine/testing.h"
#include "exec/null_executor.h"

namespace quire {
namespace {

constexpr int kVocab = 300;
constexpr int kMaxModelLen = 64;

EngineConfig SmallConfig() {
  EngineConfig config;
  config.model.model = "null";
  config.model.generation_config = "vllm";
  config.cache.num_gpu_blocks_override = 64;
  config.scheduler.max_num_seqs = 8;
  config.scheduler.max_num_batched_tokens = 32;
  return config;
}

NullExecutor::Script Saying(std::string text) {
  return [text](RequestId, std::int32_t idx) -> TokenId {
    const auto at = static_cast<std::size_t>(idx);
    return at < text.size() ? static_cast<unsigned char>(text[at]) : kTestEos;
  };
}

std::unique_ptr<Llm> MakeLlm(NullExecutor::Script script, EngineConfig config = SmallConfig()) {
  auto llm = Llm::CreateOver(config,
                             std::make_unique<NullExecutor>(
                                 NullExecutor::SmallFacts(kVocab, kMaxModelLen), std::move(script)),
                             MakeTestTokenizer());
  EXPECT_TRUE(llm.ok()) << llm.status().message();
  return *std::move(llm);
}

PromptInput Text(std::string text, OutputKind kind = OutputKind::kFinalOnly) {
  PromptInput input;
  input.text = std::move(text);
  input.sampling.max_tokens = 20;
  input.sampling.output_kind = kind;
  return input;
}

// Steps until nothing is left; all outputs in their order.
std::vector<RequestOutput> Drain(Llm& llm) {
  std::vector<RequestOutput> all;
  std::vector<RequestOutput> outputs;
  for (int step = 0; step < 1000 && llm.has_unfinished(); ++step) {
    EXPECT_TRUE(llm.Step(outputs).ok());
    for (RequestOutput& output : outputs) all.push_back(std::move(output));
  }
  EXPECT_FALSE(llm.has_unfinished());
  return all;
}

TEST(Llm, AnswersPromptsInTheirOrder) {
  const auto llm = MakeLlm([](RequestId id, std::int32_t idx) -> TokenId {
    return idx < id.value() ? static_cast<TokenId>('a' + id.value()) : kTestEos;
  });
  std::vector<PromptInput> prompts;
  for (int i = 0; i < 12; ++i) prompts.push_back(Text("prompt"));
  const auto results = llm->Generate(prompts, {});
  ASSERT_EQ(results.size(), 12U);
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_TRUE(results[i].is_finished);
    EXPECT_EQ(results[i].outputs[0].text, std::string(i, static_cast<char>('a' + i)));
    EXPECT_EQ(results[i].outputs[0].finish_reason, FinishReason::kStop);
  }
}

TEST(Llm, RefusesABadPromptAndAnswersTheOthers) {
  const auto llm = MakeLlm(Saying("ok"));
  const auto results =
      llm->Generate({Text("one"), Text(std::string(100, 'x')), Text(""), Text("two")}, {});
  ASSERT_EQ(results.size(), 4U);
  EXPECT_EQ(results[0].outputs[0].text, "ok");
  EXPECT_NE(results[1].error.message().find("100 tokens"), std::string::npos);
  EXPECT_EQ(results[2].error.code(), Code::kInvalidArgument);
  EXPECT_EQ(results[3].outputs[0].text, "ok");
}

TEST(Llm, GeneratesMorePromptsThanMayWait) {
  EngineConfig config = SmallConfig();
  config.scheduler.max_waiting = 3;
  const auto llm = MakeLlm(Saying("ok"), config);
  for (const RequestOutput& result : llm->Generate(std::vector(40, Text("a")), {})) {
    EXPECT_TRUE(result.error.ok()) << result.error.message();
  }
}

TEST(Llm, GivesExactlyMaxTokens) {
  for (const int count : {1, 2, 3}) {
    const auto llm = MakeLlm(Saying("abcdefgh"));
    PromptInput input = Text("a");
    input.sampling.max_tokens = count;
    const auto results = llm->Generate({input}, {});
    EXPECT_EQ(results[0].outputs[0].token_ids.size(), static_cast<std::size_t>(count));
    EXPECT_EQ(results[0].outputs[0].finish_reason, FinishReason::kLength);
  }
}

TEST(Llm, FillsTheContextWhenNoLimitIsGiven) {
  const auto llm = MakeLlm([](RequestId, std::int32_t) { return TokenId{'a'}; });
  PromptInput input = Text(std::string(60, 'p'));
  input.sampling.max_tokens.reset();
  const auto results = llm->Generate({input}, {});
  EXPECT_EQ(results[0].outputs[0].token_ids.size(), 4U);
  EXPECT_EQ(results[0].outputs[0].finish_reason, FinishReason::kLength);
}

TEST(Llm, StreamsDeltasThatJoinToTheFinalText) {
  const auto llm = MakeLlm(Saying("gr\xC3\xBC\xC3\x9F dich, green"));
  PromptInput input = Text("a", OutputKind::kDelta);
  input.sampling.stop = {"reen"};
  ASSERT_TRUE(llm->Submit("r", input).ok());
  std::string text;
  std::size_t num_tokens = 0;
  const auto outputs = Drain(*llm);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(outputs[i].prompt_token_ids.empty(), i > 0);
    EXPECT_EQ(outputs[i].is_finished, i + 1 == outputs.size());
    text += outputs[i].outputs.at(0).text;
    num_tokens += outputs[i].outputs.at(0).token_ids.size();
  }
  EXPECT_EQ(text, "gr\xC3\xBC\xC3\x9F dich, g");
  EXPECT_EQ(num_tokens, text.size() + 4);
  EXPECT_EQ(std::get<std::string>(outputs.back().outputs[0].stop_reason), "reen");
}

TEST(Llm, FreesWhatAStopStringEnded) {
  const auto llm = MakeLlm(Saying("abcdefghij"));
  PromptInput input = Text("a");
  input.sampling.stop = {"c"};
  EXPECT_EQ(llm->Generate({input}, {})[0].outputs[0].text, "ab");
  std::vector<RequestOutput> outputs;
  ASSERT_TRUE(llm->Step(outputs).ok());
  EXPECT_EQ(llm->stats().num_running, 0);
  EXPECT_EQ(llm->stats().num_used_blocks, 0);
}

TEST(Llm, CumulativeOutputsHoldEverythingSoFar) {
  const auto llm = MakeLlm(Saying("abc"));
  ASSERT_TRUE(llm->Submit("r", Text("x", OutputKind::kCumulative)).ok());
  std::vector<std::string> texts;
  for (const RequestOutput& output : Drain(*llm)) texts.push_back(output.outputs.at(0).text);
  EXPECT_EQ(texts, (std::vector<std::string>{"a", "ab", "abc", "abc"}));
}

TEST(Llm, GivesNAnswersWithTheirIndices) {
  const auto llm = MakeLlm([](RequestId id, std::int32_t idx) -> TokenId {
    return idx <= id.value() ? static_cast<TokenId>('a' + id.value()) : kTestEos;
  });
  PromptInput input = Text("x");
  input.sampling.n = 3;
  const auto results = llm->Generate({input}, {});
  ASSERT_EQ(results[0].outputs.size(), 3U);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(results[0].outputs[static_cast<std::size_t>(i)].index, i);
    EXPECT_EQ(results[0].outputs[static_cast<std::size_t>(i)].text,
              std::string(static_cast<std::size_t>(i) + 1, static_cast<char>('a' + i)));
  }
}

TEST(Llm, EndsAnAbortedRequestOnceAndLeavesTheOthersAlone) {
  const auto llm = MakeLlm(Saying("abcdefghijkl"));
  ASSERT_TRUE(llm->Submit("gone", Text("x", OutputKind::kDelta)).ok());
  ASSERT_TRUE(llm->Submit("stays", Text("y", OutputKind::kFinalOnly)).ok());
  std::vector<RequestOutput> outputs;
  ASSERT_TRUE(llm->Step(outputs).ok());
  llm->Abort("gone");
  llm->Abort("never was");
  int num_ends = 0;
  for (const RequestOutput& output : Drain(*llm)) {
    if (output.request_id == "gone") {
      EXPECT_EQ(output.outputs.at(0).finish_reason, FinishReason::kAbort);
      ++num_ends;
    } else {
      EXPECT_EQ(output.outputs.at(0).text, "abcdefghijkl");
    }
  }
  EXPECT_EQ(num_ends, 1);
  EXPECT_EQ(llm->stats().num_used_blocks, 0);
}

TEST(Llm, RefusesAnIdThatIsAliveAndTakesItAgainLater) {
  const auto llm = MakeLlm(Saying("ab"));
  ASSERT_TRUE(llm->Submit("r", Text("x")).ok());
  EXPECT_EQ(llm->Submit("r", Text("y")).code(), Code::kInvalidArgument);
  EXPECT_EQ(Drain(*llm).size(), 1U);
  EXPECT_TRUE(llm->Submit("r", Text("z")).ok());
  EXPECT_EQ(Drain(*llm).size(), 1U);
}

TEST(Llm, RefusesWhenTooManyWaitAndKeepsNothingOfIt) {
  EngineConfig config = SmallConfig();
  config.scheduler.max_waiting = 2;
  const auto llm = MakeLlm(Saying("ab"), config);
  PromptInput input = Text("x");
  input.sampling.n = 3;
  EXPECT_EQ(llm->Submit("r", input).code(), Code::kResourceExhausted);
  EXPECT_FALSE(llm->has_unfinished());
  EXPECT_TRUE(llm->Submit("r", Text("y")).ok());
  EXPECT_EQ(Drain(*llm).back().outputs.at(0).text, "ab");
}

TEST(Llm, GivesPromptLogprobsWhateverTheChunks) {
  EngineConfig config = SmallConfig();
  config.scheduler.max_num_batched_tokens = 8;
  const auto llm = MakeLlm(Saying("ab"), config);
  PromptInput input = Text(std::string(30, 'p'));
  input.sampling.prompt_logprobs = 0;
  input.sampling.logprobs = 0;
  const auto results = llm->Generate({input}, {});
  ASSERT_EQ(results[0].prompt_logprobs.size(), 30U);
  EXPECT_TRUE(results[0].prompt_logprobs[0].entries.empty());
  EXPECT_EQ(results[0].prompt_logprobs[29].entries.size(), 1U);
  EXPECT_EQ(results[0].outputs[0].logprobs.size(), results[0].outputs[0].token_ids.size());
}

// Fails from its third step on.
class BreakingExecutor : public NullExecutor {
 public:
  BreakingExecutor() : NullExecutor(SmallFacts(kVocab, kMaxModelLen), Saying("abcdefgh")) {}
  Status Begin(const StepPlan& plan) override {
    if (++num_steps_ >= 3) return Internal("the device is gone");
    return NullExecutor::Begin(plan);
  }

 private:
  int num_steps_ = 0;
};

TEST(Llm, FailsEveryRequestWhenTheEngineCannotGoOn) {
  const auto llm =
      *Llm::CreateOver(SmallConfig(), std::make_unique<BreakingExecutor>(), MakeTestTokenizer());
  ASSERT_TRUE(llm->Submit("r", Text("x", OutputKind::kDelta)).ok());
  ASSERT_TRUE(llm->Submit("s", Text("y", OutputKind::kFinalOnly)).ok());
  std::vector<RequestOutput> outputs;
  ASSERT_TRUE(llm->Step(outputs).ok());
  ASSERT_TRUE(llm->Step(outputs).ok());
  EXPECT_EQ(llm->Step(outputs).code(), Code::kInternal);
  ASSERT_EQ(outputs.size(), 2U);
  for (const RequestOutput& output : outputs) {
    EXPECT_TRUE(output.is_finished);
    EXPECT_EQ(output.error.message(), "the device is gone");
  }
  EXPECT_FALSE(llm->has_unfinished());
  EXPECT_EQ(llm->Submit("t", Text("z")).code(), Code::kInternal);
}

}  // namespace
}  // namespace quire
