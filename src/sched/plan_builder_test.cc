#include "sched/plan_builder.h"

#include <gtest/gtest.h>

namespace quire {
namespace {

// A plan with so many rows, each with two lists that hold something.
void Build(PlanBuilder& builder, int num_rows) {
  builder.Begin();
  for (int i = 0; i < num_rows; ++i) {
    ScheduledRow& row = builder.AddRow(RequestId(i));
    row.num_new_tokens = 2;
    row.samples = true;
    row.draft_tokens = {1};
    row.new_blocks[0].push_back(BlockId(i));
  }
  builder.Finish();
}

TEST(PlanBuilder, RowsOfASmallerPlanLeaveNothingInTheNext) {
  PlanBuilder builder(2);
  Build(builder, 5);
  Build(builder, 1);
  EXPECT_EQ(builder.plan().rows.size(), 1U);
  EXPECT_EQ(builder.plan().num_tokens, 2);
  builder.Begin();
  for (int i = 0; i < 5; ++i) {
    const ScheduledRow& row = builder.AddRow(RequestId(i));
    EXPECT_TRUE(row.draft_tokens.empty());
    EXPECT_FALSE(row.samples);
    ASSERT_EQ(row.new_blocks.size(), 2U);
    EXPECT_TRUE(row.new_blocks[0].empty());
  }
  EXPECT_EQ(builder.Finish().num_tokens, 0);
}

TEST(PlanBuilder, ADroppedRowIsNotInThePlan) {
  PlanBuilder builder(1);
  builder.Begin();
  builder.AddRow(RequestId(1));
  builder.AddRow(RequestId(2));
  builder.DropLastRow();
  const StepPlan& plan = builder.Finish();
  ASSERT_EQ(plan.rows.size(), 1U);
  EXPECT_EQ(plan.rows[0].id, RequestId(1));
}

TEST(PlanBuilder, FinishedRequestsAreListedUntilAPlanWithRowsHasNotFailed) {
  PlanBuilder builder(1);
  const std::vector<RequestId> finished = {RequestId(7)};
  builder.AddFinished(RequestId(7));
  builder.Begin();
  EXPECT_EQ(builder.Finish().finished, finished);
  Build(builder, 1);
  EXPECT_EQ(builder.plan().finished, finished);
  builder.MarkFailed();
  Build(builder, 1);
  EXPECT_EQ(builder.plan().finished, finished);
  Build(builder, 1);
  EXPECT_TRUE(builder.plan().finished.empty());
}

}  // namespace
}  // namespace quire
