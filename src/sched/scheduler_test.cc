#include "sched/scheduler.h"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "sched/testing.h"

namespace quire {
namespace {

std::vector<TokenId> Tokens(int count, TokenId first = 100) {
  std::vector<TokenId> tokens(static_cast<std::size_t>(count));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

class SchedulerTest : public testing::Test {
 protected:
  void Make(const SchedulerConfig& config = SmallConfig()) {
    auto scheduler = Scheduler::Create(config);
    ASSERT_TRUE(scheduler.ok()) << scheduler.status().message();
    scheduler_ = *std::move(scheduler);
  }
  void Add(EngineRequest request) {
    const Status status = scheduler_->Add(std::move(request));
    ASSERT_TRUE(status.ok()) << status.message();
  }
  // One turn in which every sampling row gives `token`.
  std::span<const EngineCoreOutput> Turn(TokenId token = 7) {
    const auto outputs = scheduler_->Update(ResultOf(scheduler_->Schedule(), token));
    scheduler_->CheckInvariants();
    return outputs;
  }

  std::unique_ptr<Scheduler> scheduler_;
};

TEST_F(SchedulerTest, APromptIsComputedWholeAndThenOneTokenAStep) {
  Make();
  Add(RequestOf(1, Tokens(10), 3));
  const StepPlan& plan = scheduler_->Schedule();
  ASSERT_EQ(plan.rows.size(), 1U);
  ASSERT_EQ(plan.new_requests.size(), 1U);
  EXPECT_EQ(plan.new_requests[0].tokens, Tokens(10));
  EXPECT_EQ(plan.new_requests[0].blocks[0].size(), 3U);
  EXPECT_EQ(plan.rows[0].num_new_tokens, 10);
  EXPECT_EQ(plan.num_tokens, 10);
  EXPECT_TRUE(plan.rows[0].samples);
  auto outputs = scheduler_->Update(ResultOf(plan, 7));
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs[0].new_tokens, std::vector<TokenId>{7});
  EXPECT_FALSE(outputs[0].finish_reason);

  const StepPlan& second = scheduler_->Schedule();
  EXPECT_TRUE(second.new_requests.empty());
  EXPECT_EQ(second.rows[0].num_computed_tokens, 10);
  EXPECT_EQ(second.rows[0].num_new_tokens, 1);
  scheduler_->Update(ResultOf(second, 7));
  outputs = Turn();
  EXPECT_EQ(outputs[0].finish_reason, FinishReason::kLength);
  EXPECT_FALSE(scheduler_->has_unfinished());
  EXPECT_EQ(scheduler_->stats().num_used_blocks, 0);
  EXPECT_EQ(scheduler_->Schedule().finished, std::vector<RequestId>{RequestId(1)});
}

TEST_F(SchedulerTest, ChunksBeforeTheLastGiveNothing) {
  Make();
  Add(RequestOf(1, Tokens(50), 1));
  const StepPlan& plan = scheduler_->Schedule();
  EXPECT_EQ(plan.rows[0].num_new_tokens, 32);
  EXPECT_FALSE(plan.rows[0].samples);
  StepResult result = ResultOf(plan, 7);
  result.rows[0].tokens = {9};  // a worker's slip must not reach the client
  EXPECT_TRUE(scheduler_->Update(result).empty());
  const auto outputs = Turn(8);
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs[0].new_tokens, std::vector<TokenId>{8});
}

}  // namespace
}  // namespace quire
