// Draft tokens in a plan: what is accepted is exactly what would have been drawn without them.
#include <gtest/gtest.h>

#include "exec/executor.h"
#include "tiny_model.h"

namespace quire {
namespace {

constexpr int kBlockSize = 16;

class Drafts : public testing::Test {
 protected:
  Drafts() {
    const std::string folder = testing::TempDir() + "quire_tiny_drafts";
    EXPECT_TRUE(WriteTinyModel(folder).ok());
    EngineConfig config;
    config.model.model = folder;
    config.parallel.threads = 2;
    config.parallel.pin = false;
    executor_ = *CreateInlineExecutor(config, {});
    EXPECT_TRUE(executor_
                    ->InitKvCache({.num_blocks = 32,
                                   .block_size = kBlockSize,
                                   .max_model_len = 128,
                                   .max_rows = 64,
                                   .max_requests = 4})
                    .ok());
  }

  // The first token after the prompt of request `id`.
  TokenId Begin(int id, double temperature) {
    StepPlan plan;
    NewRequestData data;
    data.id = RequestId(id);
    data.tokens = {11, 22, 33, 44, 55};
    data.num_prompt_tokens = 5;
    data.sampling.temperature = temperature;
    data.sampling.repetition_penalty = 1.1;
    data.seed = 77;
    data.blocks = {{BlockId(1 + 4 * id), BlockId(2 + 4 * id), BlockId(3 + 4 * id)}};
    plan.new_requests = {data};
    plan.rows = {Row(id, 0, 5, {})};
    num_computed_ = 5;
    return Run(plan).at(0);
  }

  // One decode step with these drafts; the tokens that came of it.
  std::vector<TokenId> Step(int id, std::vector<TokenId> drafts) {
    StepPlan plan;
    plan.rows = {Row(id, num_computed_, 1 + static_cast<int>(drafts.size()), drafts)};
    const std::vector<TokenId> tokens = Run(plan);
    num_computed_ += static_cast<int>(tokens.size());
    return tokens;
  }

 private:
  static ScheduledRow Row(int id, int computed, int count, std::vector<TokenId> drafts) {
    ScheduledRow row;
    row.id = RequestId(id);
    row.num_computed_tokens = computed;
    row.num_new_tokens = count;
    row.draft_tokens = std::move(drafts);
    row.samples = true;
    return row;
  }

  std::vector<TokenId> Run(const StepPlan& plan) {
    StepResult result;
    const Status status = executor_->Execute(plan, result);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(result.rows.at(0).error.ok());
    return result.rows.at(0).tokens;
  }

  std::unique_ptr<Executor> executor_;
  int num_computed_ = 0;
};

TEST_F(Drafts, AreAcceptedAsFarAsTheyAreWhatWouldBeDrawn) {
  for (const double temperature : {0.0, 0.9}) {
    const int first_id = temperature == 0.0 ? 0 : 3;
    std::vector<TokenId> plain = {Begin(first_id, temperature)};
    while (plain.size() < 12) plain.push_back(Step(first_id, {}).at(0));

    ASSERT_EQ(Begin(first_id + 1, temperature), plain[0]);
    EXPECT_EQ(Step(first_id + 1, {plain[1], plain[2], plain[3]}),
              (std::vector<TokenId>{plain[1], plain[2], plain[3], plain[4]}));
    const TokenId wrong = (plain[6] + 1) % kTinyVocab;
    EXPECT_EQ(Step(first_id + 1, {plain[5], wrong, plain[7]}),
              (std::vector<TokenId>{plain[5], plain[6]}));
    EXPECT_EQ(Step(first_id + 1, {wrong, wrong}).size(), plain[7] == wrong ? 2U : 1U);
    EXPECT_EQ(Step(first_id + 1, {}), (std::vector<TokenId>{plain[8]}));
  }
}

}  // namespace
}  // namespace quire
