#include "exec/thread_executor.h"

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
