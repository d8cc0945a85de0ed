#include "exec/thread_executor.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "exec/null_executor.h"

namespace quire {
namespace {

KvCachePlan SmallPlan() {
  return {
      .num_blocks = 16, .block_size = 4, .max_model_len = 32, .max_rows = 16, .max_requests = 4};
}

Result<std::unique_ptr<Executor>> MakeNull() {
  return std::unique_ptr<Executor>(
      new NullExecutor(NullExecutor::SmallFacts(100, 32),
                       [](RequestId, std::int32_t idx) { return static_cast<TokenId>(40 + idx); }));
}

StepPlan FirstStep() {
  StepPlan plan;
  plan.step_id = 7;
  NewRequestData data;
  data.id = RequestId(3);
  data.tokens = {1, 2, 3};
  data.num_prompt_tokens = 3;
  data.sampling.logprobs = 0;
  data.blocks = {{BlockId(5)}};
  plan.new_requests = {data};
  ScheduledRow row;
  row.id = RequestId(3);
  row.num_new_tokens = 3;
  row.samples = true;
  plan.rows = {row};
  plan.num_tokens = 3;
  return plan;
}

TEST(ThreadExecutor, GivesWhatItsWorkerGives) {
  auto executor = *CreateThreadExecutor(MakeNull);
  EXPECT_EQ(executor->facts().vocab_size, 100);
  ASSERT_TRUE(executor->InitKvCache(SmallPlan()).ok());
  StepResult result;
  ASSERT_TRUE(executor->Execute(FirstStep(), result).ok());
  EXPECT_EQ(result.step_id, 7U);
  ASSERT_EQ(result.rows.size(), 1U);
  EXPECT_EQ(result.rows[0].id, RequestId(3));
  EXPECT_EQ(result.rows[0].tokens, (std::vector<TokenId>{40}));
  EXPECT_EQ(result.rows[0].logprobs.size(), 1U);
}

TEST(ThreadExecutor, HandsTheWorkersFailureOn) {
  auto executor = *CreateThreadExecutor(MakeNull);
  ASSERT_TRUE(executor->InitKvCache(SmallPlan()).ok());
  StepPlan plan = FirstStep();
  plan.new_requests.clear();
  StepResult result;
  EXPECT_EQ(executor->Execute(plan, result).code(), Code::kInternal);
  EXPECT_EQ(executor->EvaluateLogits({}, {}).code(), Code::kUnimplemented);
}

TEST(ThreadExecutor, TellsInFinishWhatTheWorkersBeginFailedWith) {
  auto executor = *CreateThreadExecutor(MakeNull);
  ASSERT_TRUE(executor->InitKvCache(SmallPlan()).ok());
  StepPlan plan = FirstStep();
  plan.new_requests.clear();
  StepResult result;
  ASSERT_TRUE(executor->Begin(plan).ok());
  EXPECT_EQ(executor->Finish(plan, {}, result).code(), Code::kInternal);
  // Reset also where a step has begun and was never finished.
  ASSERT_TRUE(executor->Begin(plan).ok());
  ASSERT_TRUE(executor->Reset().ok());
  EXPECT_TRUE(executor->Execute(FirstStep(), result).ok());
}

TEST(ThreadExecutor, ObeysMasksThatComeAfterThePlan) {
  auto executor = *CreateThreadExecutor(MakeNull);
  EXPECT_TRUE(executor->computes_aside());
  ASSERT_TRUE(executor->InitKvCache(SmallPlan()).ok());
  StepPlan plan = FirstStep();
  plan.rows[0].grammar_row = 1;
  ASSERT_TRUE(executor->Begin(plan).ok());
  StepMasks masks = {.step_id = plan.step_id, .words = std::vector<std::uint32_t>(8)};
  masks.words[4 + 2] = 1U << 5;  // token 69 of the second row
  StepResult result;
  ASSERT_TRUE(executor->Finish(plan, masks, result).ok());
  EXPECT_EQ(result.rows[0].tokens, (std::vector<TokenId>{69}));
}

TEST(NullExecutor, ItsForwardTakesTheTimeThatItIsGiven) {
  const auto facts = NullExecutor::SmallFacts(100, 32);
  const auto script = [](RequestId, std::int32_t) { return TokenId{40}; };
  EXPECT_FALSE(NullExecutor(facts, script).computes_aside());
  NullExecutor executor(facts, script, std::chrono::milliseconds(3));
  EXPECT_TRUE(executor.computes_aside());
  ASSERT_TRUE(executor.InitKvCache(SmallPlan()).ok());
  const auto begin = std::chrono::steady_clock::now();
  StepResult result;
  ASSERT_TRUE(executor.Execute(FirstStep(), result).ok());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(3));
  EXPECT_EQ(result.rows[0].tokens, (std::vector<TokenId>{40}));
}

TEST(ThreadExecutor, TurnsWhatTheWorkerThrowsIntoAStatus) {
  const auto executor =
      CreateThreadExecutor([]() -> Result<std::unique_ptr<Executor>> { throw std::bad_alloc(); });
  ASSERT_FALSE(executor.ok());
  EXPECT_EQ(executor.status().code(), Code::kInternal);
}

TEST(ThreadExecutor, ComputesOnAnotherThread) {
  std::thread::id maker;
  auto executor = *CreateThreadExecutor([&] {
    maker = std::this_thread::get_id();
    return MakeNull();
  });
  EXPECT_NE(maker, std::this_thread::get_id());
}

}  // namespace
}  // namespace quire
