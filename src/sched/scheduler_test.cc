#include "sched/scheduler.h"

#include <functional>
#include <numeric>
#include <utility>
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

TEST_F(SchedulerTest, APlanStaysAsItIsUntilTheNext) {
  Make();
  Add(RequestOf(1, Tokens(4), 1));
  Add(RequestOf(2, Tokens(4, 500), 9));
  const StepPlan& plan = scheduler_->Schedule();
  scheduler_->Update(ResultOf(plan, 7));
  EXPECT_EQ(plan.rows.size(), 2U);
  EXPECT_TRUE(plan.finished.empty());
  const std::uint64_t step_id = plan.step_id;
  scheduler_->Schedule();
  EXPECT_EQ(plan.step_id, step_id + 1);
}

TEST_F(SchedulerTest, PlansWithoutRowsRepeatWhatIsFinishedUntilAPlanHasRows) {
  Make();
  Add(RequestOf(1, Tokens(4), 1));
  Turn();
  const std::vector<RequestId> finished = {RequestId(1)};
  EXPECT_EQ(scheduler_->Schedule().finished, finished);
  EXPECT_EQ(scheduler_->Schedule().finished, finished);
  Add(RequestOf(2, Tokens(4), 2));
  const StepPlan& plan = scheduler_->Schedule();
  EXPECT_EQ(plan.finished, finished);
  scheduler_->Update(ResultOf(plan, 7));
  EXPECT_TRUE(scheduler_->Schedule().finished.empty());
}

TEST_F(SchedulerTest, AResultOfAnotherStepFailsTheRequestsOfThisOne) {
  Make();
  Add(RequestOf(1, Tokens(4), 3));
  StepResult result = ResultOf(scheduler_->Schedule(), 7);
  result.step_id += 1;
  const auto outputs = scheduler_->Update(result);
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs[0].finish_reason, FinishReason::kError);
  EXPECT_EQ(outputs[0].error.code(), Code::kInternal);
  EXPECT_FALSE(scheduler_->has_unfinished());
  scheduler_->CheckInvariants();
}

TEST_F(SchedulerTest, AResultWithTooFewOrTooManyTokensFailsItsRequestAlone) {
  Make();
  Add(RequestOf(1, Tokens(4), 3));
  Add(RequestOf(2, Tokens(4, 500), 3));
  Add(RequestOf(3, Tokens(4, 900), 3));
  StepResult result = ResultOf(scheduler_->Schedule(), 7);
  result.rows[0].tokens.clear();
  result.rows[1].tokens = {7, 8};
  const auto outputs = scheduler_->Update(result);
  ASSERT_EQ(outputs.size(), 3U);
  EXPECT_EQ(outputs[0].finish_reason, FinishReason::kError);
  EXPECT_EQ(outputs[1].finish_reason, FinishReason::kError);
  EXPECT_EQ(outputs[2].finish_reason, std::nullopt);
  scheduler_->CheckInvariants();
}

TEST_F(SchedulerTest, AMissingRowFailsItsRequest) {
  Make();
  Add(RequestOf(1, Tokens(4), 3));
  StepResult result = ResultOf(scheduler_->Schedule(), 7);
  result.rows.clear();
  EXPECT_EQ(scheduler_->Update(result)[0].finish_reason, FinishReason::kError);
}

TEST_F(SchedulerTest, FailAllEndsEveryRequestOnceAlsoOfAPlanThatWasNotComputed) {
  Make();
  Add(RequestOf(1, Tokens(20), 3));
  scheduler_->Schedule();
  Add(RequestOf(2, Tokens(4), 3));
  scheduler_->Abort(RequestId(1));
  scheduler_->FailAll(Internal("the device is gone"));
  const auto outputs = scheduler_->TakeOutputs();
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs[0].finish_reason, FinishReason::kAbort);
  EXPECT_EQ(outputs[1].id, RequestId(2));
  EXPECT_EQ(outputs[1].error.message(), "the device is gone");
  EXPECT_FALSE(scheduler_->has_unfinished());
  scheduler_->CheckInvariants();
  // What was not computed is not found either, and the worker is told to forget.
  Add(RequestOf(3, Tokens(20), 3));
  const StepPlan& plan = scheduler_->Schedule();
  EXPECT_EQ(plan.rows[0].num_computed_tokens, 0);
  EXPECT_EQ(plan.finished, std::vector<RequestId>{RequestId(1)});
}

TEST_F(SchedulerTest, AnAbortedRequestKeepsItsBlocksUntilTheStepIsDone) {
  Make();
  Add(RequestOf(1, Tokens(8), 3));
  const StepResult result = ResultOf(scheduler_->Schedule(), 7);
  scheduler_->Abort(RequestId(1));
  EXPECT_EQ(scheduler_->stats().num_used_blocks, 2);
  EXPECT_TRUE(scheduler_->has_unfinished());
  const auto outputs = scheduler_->Update(result);
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs[0].finish_reason, FinishReason::kAbort);
  EXPECT_TRUE(outputs[0].new_tokens.empty());
  EXPECT_EQ(scheduler_->stats().num_used_blocks, 0);
}

TEST_F(SchedulerTest, LogprobsComeWithTheirTokensAndStopWithThem) {
  Make();
  EngineRequest request = RequestOf(1, Tokens(4), 9);
  request.sampling.logprobs = 1;
  Add(std::move(request));
  StepResult result = ResultOf(scheduler_->Schedule(), 7);
  result.rows[0].logprobs = {{{{7, -1.0F, 1}}}};
  result.rows[0].draft_tokens = {2, 8};
  auto outputs = scheduler_->Update(result);
  ASSERT_EQ(outputs[0].new_logprobs.size(), 1U);
  EXPECT_EQ(outputs[0].new_logprobs[0].entries[0].token, 7);
  result = ResultOf(scheduler_->Schedule(), 7);
  result.rows[0].tokens = {2, 8, 9};
  result.rows[0].logprobs.resize(3);
  outputs = scheduler_->Update(result);
  EXPECT_EQ(outputs[0].new_tokens, std::vector<TokenId>{2});
  EXPECT_EQ(outputs[0].new_logprobs.size(), 1U);
}

TEST_F(SchedulerTest, PromptLogprobsOfAllChunksComeInOrderBehindAnEmptyOne) {
  SchedulerConfig config = SmallConfig();
  config.options.max_num_batched_tokens = 4;
  Make(config);
  EngineRequest request = RequestOf(1, Tokens(6), 2);
  request.sampling.prompt_logprobs = 0;
  Add(std::move(request));
  const auto turn = [&] {
    const StepPlan& plan = scheduler_->Schedule();
    StepResult result = ResultOf(plan, 7);
    for (int j = 0; j < plan.rows[0].num_new_tokens; ++j) {
      const TokenId position = plan.rows[0].num_computed_tokens + 1 + j;
      result.rows[0].prompt_logprobs.push_back({{{position, 0.0F, 1}}});
    }
    return scheduler_->Update(result);
  };
  EXPECT_TRUE(turn().empty());
  const auto outputs = turn();
  const auto& logprobs = outputs[0].new_prompt_logprobs;
  ASSERT_EQ(logprobs.size(), 6U);
  EXPECT_TRUE(logprobs[0].entries.empty());
  for (std::size_t p = 1; p < 6; ++p) {
    EXPECT_EQ(logprobs[p].entries[0].token, static_cast<TokenId>(p));
  }
  EXPECT_TRUE(turn()[0].new_prompt_logprobs.empty());
}

// What ends a request whose tokens are 7, 8, 7, 8, …, and after how many.
std::pair<EngineCoreOutput, int> EndOfAlternating(const std::function<void(EngineRequest&)>& set,
                                                  int preempt_at = 0) {
  SchedulerConfig config = SmallConfig();
  auto scheduler = *Scheduler::Create(config);
  EngineRequest request = RequestOf(1, {7, 8, 7, 8}, 20);
  request.sampling.repetition_detection = {
      .max_pattern_size = 3, .min_pattern_size = 0, .min_count = 3};
  set(request);
  EXPECT_TRUE(scheduler->Add(std::move(request)).ok());
  for (int num_tokens = 1; num_tokens < 30; ++num_tokens) {
    if (num_tokens == preempt_at) scheduler->PreemptAll();
    const StepPlan& plan = scheduler->Schedule();
    const auto outputs = scheduler->Update(ResultOf(plan, num_tokens % 2 == 1 ? 7 : 8));
    if (!outputs.empty() && outputs[0].finish_reason) return {outputs[0], num_tokens};
  }
  return {};
}

TEST_F(SchedulerTest, OutputThatRepeatsItselfEndsARequest) {
  const auto [output, num_tokens] = EndOfAlternating([](EngineRequest&) {});
  EXPECT_EQ(num_tokens, 6) << "the prompt does not count";
  EXPECT_EQ(output.finish_reason, FinishReason::kRepetition);
  EXPECT_EQ(output.stop_reason, StopReason("repetition_detected"));
}

TEST_F(SchedulerTest, APreemptedRequestStillKnowsWhatItRepeats) {
  for (int preempt_at = 1; preempt_at <= 6; ++preempt_at) {
    const auto [output, num_tokens] = EndOfAlternating([](EngineRequest&) {}, preempt_at);
    EXPECT_EQ(num_tokens, 6) << preempt_at;
    EXPECT_EQ(output.finish_reason, FinishReason::kRepetition);
  }
}

TEST_F(SchedulerTest, RepetitionEndsARequestNotBeforeMinTokensAndAfterAllOtherReasons) {
  const auto late = EndOfAlternating([](EngineRequest& r) { r.sampling.min_tokens = 9; });
  EXPECT_EQ(late.second, 9);
  EXPECT_EQ(late.first.finish_reason, FinishReason::kRepetition);
  const auto stopped = EndOfAlternating([](EngineRequest& r) {
    r.sampling.min_tokens = 6;
    r.sampling.stop_token_ids = {8};
  });
  EXPECT_EQ(stopped.second, 6);
  EXPECT_EQ(stopped.first.finish_reason, FinishReason::kStop);
  const auto cut = EndOfAlternating([](EngineRequest& r) { r.max_tokens = 6; });
  EXPECT_EQ(cut.second, 6);
  EXPECT_EQ(cut.first.finish_reason, FinishReason::kLength);
}

TEST_F(SchedulerTest, TheSameIdTwiceIsRefusedWhileTheFirstLives) {
  Make();
  Add(RequestOf(1, Tokens(4), 1));
  EXPECT_EQ(scheduler_->Add(RequestOf(1, Tokens(4), 1)).code(), Code::kInvalidArgument);
  EXPECT_EQ(scheduler_->stats().num_waiting, 1);
}

TEST_F(SchedulerTest, TellsWhichBoundARequestMeets) {
  SchedulerConfig config = SmallConfig();
  config.options.max_waiting = 2;
  config.options.max_waiting_tokens = 6;
  Make(config);
  EXPECT_EQ(scheduler_->BoundMetBy(RequestOf(1, Tokens(9), 1)), std::nullopt);
  Add(RequestOf(1, Tokens(4), 1));
  EXPECT_EQ(scheduler_->BoundMetBy(RequestOf(2, Tokens(3), 1)), WaitingBound::kTokens);
  EXPECT_EQ(scheduler_->BoundMetBy(RequestOf(2, Tokens(2), 1)), std::nullopt);
  Add(RequestOf(2, Tokens(2), 1));
  EXPECT_EQ(scheduler_->BoundMetBy(RequestOf(3, Tokens(9), 1)), WaitingBound::kRequests);
}

TEST_F(SchedulerTest, LetsTheFurtherAnswersOfAPromptWaitWhereTheFirstDoes) {
  SchedulerConfig config = SmallConfig();
  config.options.max_waiting = 3;
  config.options.max_waiting_tokens = 6;
  Make(config);
  EngineRequest answer = RequestOf(1, Tokens(4), 1);
  answer.family = RequestId(1);
  Add(answer);
  answer.id = RequestId(2);
  EXPECT_EQ(scheduler_->BoundMetBy(answer), std::nullopt) << "8 tokens wait with it";
  Add(answer);
  EXPECT_EQ(scheduler_->BoundMetBy(RequestOf(3, Tokens(1), 1)), WaitingBound::kTokens);
  EngineRequest other = RequestOf(3, Tokens(4), 1);
  other.family = other.id;
  EXPECT_EQ(scheduler_->BoundMetBy(other), WaitingBound::kTokens) << "the first of its prompt";
  answer.id = RequestId(4);
  Add(answer);
  answer.id = RequestId(5);
  EXPECT_EQ(scheduler_->BoundMetBy(answer), WaitingBound::kRequests);
}

TEST_F(SchedulerTest, CountsHitsAtTheFirstAdmissionOnly) {
  Make();
  Add(RequestOf(1, Tokens(9), 1));
  Turn();
  Add(RequestOf(2, Tokens(9), 9));
  Turn();
  EXPECT_EQ(scheduler_->stats().prefix_queries, 18);
  EXPECT_EQ(scheduler_->stats().prefix_hits, 8);
  scheduler_->Pause(PauseMode::kPreempt);
  scheduler_->Resume();
  Turn();
  EXPECT_EQ(scheduler_->stats().prefix_queries, 18);
  EXPECT_EQ(scheduler_->stats().num_preemptions, 1);
}

TEST_F(SchedulerTest, RefusesOptionsThatContradictEachOtherOrThePool) {
  const auto refusal = [](auto&& change) {
    SchedulerConfig config = SmallConfig();
    change(config);
    const auto scheduler = Scheduler::Create(config);
    return scheduler.ok() ? "" : scheduler.status().message();
  };
  EXPECT_EQ(refusal([](auto&) {}), "");
  EXPECT_EQ(refusal([](auto& c) { c.options.max_num_seqs = 0; }),
            "max_num_seqs: must be positive, got 0");
  EXPECT_EQ(refusal([](auto& c) { c.options.max_num_batched_tokens = -1; }),
            "max_num_batched_tokens: must be positive, got -1");
  EXPECT_EQ(refusal([](auto& c) { c.options.max_long_partial_prefills = 2; }),
            "max_long_partial_prefills: must be between 1 and max_num_partial_prefills, 1, got 2");
  EXPECT_EQ(refusal([](auto& c) { c.options.enable_chunked_prefill = false; }),
            "max_num_batched_tokens: must be at least max_model_len, 64, without chunked prefill, "
            "got 32");
  EXPECT_EQ(refusal([](auto& c) { c.num_blocks = 16; }),
            "num_blocks: one request of max_model_len, 64 tokens, needs 16 KV blocks, the cache "
            "has 15");
  EXPECT_EQ(refusal([](auto& c) { c.num_blocks = 17; }), "");
}

}  // namespace
}  // namespace quire
