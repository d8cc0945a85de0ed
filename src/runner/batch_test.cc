#include "runner/batch.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace quire {
namespace {

BatchLimits SmallLimits() {
  return {.num_groups = 1,
          .block_size = 4,
          .num_blocks = 32,
          .max_model_len = 32,
          .max_rows = 16,
          .max_requests = 4,
          .vocab_size = 100};
}

std::vector<BlockId> Blocks(std::initializer_list<int> ids) {
  std::vector<BlockId> blocks;
  for (const int id : ids) blocks.emplace_back(id);
  return blocks;
}

NewRequestData Request(int id, std::vector<TokenId> tokens, std::initializer_list<int> blocks) {
  NewRequestData data;
  data.id = RequestId(id);
  data.num_prompt_tokens = static_cast<std::int32_t>(tokens.size());
  data.tokens = std::move(tokens);
  data.blocks = {Blocks(blocks)};
  return data;
}

ScheduledRow Row(int id, int computed, int count, bool samples = false) {
  ScheduledRow row;
  row.id = RequestId(id);
  row.num_computed_tokens = computed;
  row.num_new_tokens = count;
  row.samples = samples;
  return row;
}

std::vector<std::int32_t> TableRow(const Batch& batch, std::size_t row_idx, std::size_t count) {
  const ops::AttentionBatch& attention = batch.attention()[0];
  const auto row = attention.block_table.subspan(
      row_idx * static_cast<std::size_t>(attention.max_blocks), count);
  return {row.begin(), row.end()};
}

class BatchTest : public testing::Test {
 protected:
  BatchTest() : batch_(*Batch::Create(SmallLimits())) {}
  // Says that a request got a token, as a step's sampling does.
  void Append(std::size_t row_idx, TokenId token) {
    batch_->request(row_idx).tokens.push_back(token);
  }
  std::unique_ptr<Batch> batch_;
};

TEST_F(BatchTest, LaysOutChunksOfPromptsOneAfterAnother) {
  StepPlan plan;
  plan.new_requests = {Request(1, {10, 11, 12, 13, 14, 15}, {7, 3}), Request(2, {20, 21}, {5})};
  plan.rows = {Row(1, 0, 5), Row(2, 0, 2, true)};
  ASSERT_TRUE(batch_->Apply(plan).ok());
  EXPECT_EQ(std::vector<int>(batch_->token_ids().begin(), batch_->token_ids().end()),
            (std::vector<int>{10, 11, 12, 13, 14, 20, 21}));
  EXPECT_EQ(std::vector<int>(batch_->positions().begin(), batch_->positions().end()),
            (std::vector<int>{0, 1, 2, 3, 4, 0, 1}));
  EXPECT_EQ(std::vector<int>(batch_->q_start().begin(), batch_->q_start().end()),
            (std::vector<int>{0, 5, 7}));
  const ops::AttentionBatch& attention = batch_->attention()[0];
  EXPECT_EQ(std::vector<int>(attention.slots.begin(), attention.slots.end()),
            (std::vector<int>{28, 29, 30, 31, 12, 20, 21}));
  EXPECT_EQ(attention.context_lens[0], 5);
  EXPECT_EQ(attention.context_lens[1], 2);
}

TEST_F(BatchTest, KeepsBlockTablesRightWhenRequestsChangePlaces) {
  StepPlan first;
  first.new_requests = {Request(1, {1, 2, 3, 4}, {4}), Request(2, {5, 6, 7, 8}, {9})};
  first.rows = {Row(1, 0, 4, true), Row(2, 0, 4, true)};
  ASSERT_TRUE(batch_->Apply(first).ok());
  Append(0, 50);
  Append(1, 60);

  StepPlan alone;  // request 1 waits, request 2 moves to its row and grows there
  alone.rows = {Row(2, 4, 1, true)};
  alone.rows[0].new_blocks = {Blocks({11})};
  ASSERT_TRUE(batch_->Apply(alone).ok());
  EXPECT_EQ(TableRow(*batch_, 0, 2), (std::vector<int>{9, 11}));
  Append(0, 61);

  StepPlan both;
  both.rows = {Row(1, 4, 1, true), Row(2, 5, 1, true)};
  both.rows[0].new_blocks = {Blocks({13})};
  ASSERT_TRUE(batch_->Apply(both).ok());
  EXPECT_EQ(TableRow(*batch_, 0, 2), (std::vector<int>{4, 13}));
  EXPECT_EQ(TableRow(*batch_, 1, 2), (std::vector<int>{9, 11}));
  EXPECT_EQ(batch_->token_ids()[1], 61);
}

TEST_F(BatchTest, TakesAPreemptedRequestBackWithItsNewBlocks) {
  StepPlan first;
  first.new_requests = {Request(1, {1, 2, 3, 4}, {4})};
  first.rows = {Row(1, 0, 4, true)};
  ASSERT_TRUE(batch_->Apply(first).ok());
  StepPlan again;
  NewRequestData resumed = Request(1, {1, 2, 3, 4, 70}, {21, 22});
  resumed.num_prompt_tokens = 4;
  again.new_requests = {resumed};
  again.rows = {Row(1, 0, 5, true)};
  ASSERT_TRUE(batch_->Apply(again).ok());
  EXPECT_EQ(TableRow(*batch_, 0, 2), (std::vector<int>{21, 22}));
  EXPECT_EQ(batch_->num_requests(), 1U);
  EXPECT_EQ(batch_->request(0).num_prompt_tokens, 4);
}

TEST_F(BatchTest, TakesDraftsAsTheTokensAfterTheKnownOnes) {
  StepPlan first;
  first.new_requests = {Request(1, {1, 2, 3}, {4, 5})};
  first.rows = {Row(1, 0, 3, true)};
  ASSERT_TRUE(batch_->Apply(first).ok());
  Append(0, 40);
  StepPlan drafted;
  drafted.rows = {Row(1, 3, 3, true)};
  drafted.rows[0].draft_tokens = {41, 42};
  ASSERT_TRUE(batch_->Apply(drafted).ok());
  EXPECT_EQ(std::vector<int>(batch_->token_ids().begin(), batch_->token_ids().end()),
            (std::vector<int>{40, 41, 42}));
}

TEST_F(BatchTest, ForgetsFinishedRequests) {
  StepPlan first;
  first.new_requests = {Request(1, {1}, {4})};
  first.rows = {Row(1, 0, 1, true)};
  ASSERT_TRUE(batch_->Apply(first).ok());
  StepPlan next;
  next.finished = {RequestId(1)};
  ASSERT_TRUE(batch_->Apply(next).ok());
  EXPECT_EQ(batch_->num_requests(), 0U);
  StepPlan late;
  late.rows = {Row(1, 1, 1, true)};
  EXPECT_EQ(batch_->Apply(late).code(), Code::kInternal);
}

TEST_F(BatchTest, RefusesPlansThatContradictThemselves) {
  const auto refuses = [](const StepPlan& plan) {
    return (*Batch::Create(SmallLimits()))->Apply(plan).code() == Code::kInternal;
  };
  StepPlan plan;
  plan.new_requests = {Request(1, {1, 2, 3, 4, 5}, {4, 5})};
  plan.rows = {Row(1, 0, 6)};
  EXPECT_TRUE(refuses(plan)) << "more tokens than are known";
  plan.rows = {Row(1, 0, 0)};
  EXPECT_TRUE(refuses(plan)) << "no token";
  plan.rows = {Row(1, 0, 4, true)};
  EXPECT_TRUE(refuses(plan)) << "sampling in the middle of a prompt";
  plan.rows = {Row(1, -1, 4)};
  EXPECT_TRUE(refuses(plan)) << "a negative position";
  plan.rows = {Row(1, 0, 5)};
  plan.new_requests[0].blocks = {Blocks({4})};
  EXPECT_TRUE(refuses(plan)) << "too few blocks";
  plan.new_requests[0].blocks = {Blocks({4, 32})};
  EXPECT_TRUE(refuses(plan)) << "a block that is not in the pool";
  plan.new_requests[0].blocks = {Blocks({4, 5}), Blocks({6, 7})};
  EXPECT_TRUE(refuses(plan)) << "another number of KV groups";
  plan.new_requests[0] = Request(1, {1, 100}, {4});
  plan.rows = {Row(1, 0, 2)};
  EXPECT_TRUE(refuses(plan)) << "a token outside the vocabulary";
}

}  // namespace
}  // namespace quire
