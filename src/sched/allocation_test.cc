// Counts heap allocations of this test program.
#include <vector>

#include <gtest/gtest.h>

#include "base/count_allocations.h"
#include "sched/testing.h"

namespace quire {
namespace {

TEST(SchedulerAllocation, ADecodeStepAllocatesNothingOnceItIsWarm) {
  SchedulerConfig config = SmallConfig();
  config.options.max_num_batched_tokens = 512;
  config.options.max_num_seqs = 64;
  config.num_blocks = 8000;
  config.max_model_len = 512;
  config.kv_spec = SpecOfWindows({0, 9});
  auto scheduler = *Scheduler::Create(config);
  for (int id = 0; id < 64; ++id) {
    std::vector<TokenId> prompt(static_cast<std::size_t>(1 + id % 7), id);
    ASSERT_TRUE(scheduler->Add(RequestOf(id, std::move(prompt), 400)).ok());
  }
  StepResult result;
  const auto turn = [&] {
    const StepPlan& plan = scheduler->Schedule();
    result.step_id = plan.step_id;
    result.rows.resize(plan.rows.size());
    for (std::size_t i = 0; i < plan.rows.size(); ++i) {
      result.rows[i].id = plan.rows[i].id;
      result.rows[i].tokens.assign(1, static_cast<TokenId>(10 + i));
    }
    scheduler->Update(result);
  };
  // Two blocks' worth of steps show each row and its lists once.
  for (int i = 0; i < 2 * config.block_size + 2; ++i) turn();
  const std::int64_t before = NumAllocations();
  for (int i = 0; i < 300; ++i) turn();
  EXPECT_EQ(NumAllocations() - before, 0);
  EXPECT_EQ(scheduler->stats().num_running, 64);
}

TEST(SchedulerAllocation, RequestsThatHaveEndedLeaveNoMemoryBehind) {
  SchedulerConfig config = SmallConfig();
  config.options.max_num_batched_tokens = 256;
  config.num_blocks = 65;
  auto scheduler = *Scheduler::Create(config);
  std::int64_t next_id = 0;
  // Waves of requests, some of which are preempted or aborted, and of which most share a prefix.
  const auto wave = [&] {
    for (int i = 0; i < 20; ++i) {
      std::vector<TokenId> prompt(static_cast<std::size_t>(8 + i), 5);
      prompt.back() = static_cast<TokenId>(next_id);
      ASSERT_TRUE(scheduler->Add(RequestOf(next_id++, std::move(prompt), 9)).ok());
    }
    for (int turn = 0; scheduler->has_unfinished(); ++turn) {
      if (turn == 3) scheduler->Abort(RequestId(next_id - 20));
      const StepPlan& plan = scheduler->Schedule();
      scheduler->Update(ResultOf(plan, 7));
    }
  };
  for (int i = 0; i < 50; ++i) wave();
  const std::int64_t before = NumLiveAllocations();
  for (int i = 0; i < 500; ++i) wave();
  EXPECT_EQ(NumLiveAllocations() - before, 0);
  EXPECT_GT(scheduler->stats().prefix_hits, 0);
}

}  // namespace
}  // namespace quire
