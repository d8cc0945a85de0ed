#include "sched/thinking_budget.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sched/testing.h"

namespace quire {
namespace {

// Tokens below 256 are bytes; these are more.
const std::map<TokenId, std::string>& Words() {
  static const auto& words =
      *new std::map<TokenId, std::string>{{300, "<think>"}, {301, "</think>"}, {302, "</"},
                                          {303, "think>"},  {304, "k> so"},    {305, "<think>a"}};
  return words;
}

std::shared_ptr<const ThinkingLimit> LimitOf(int max_tokens, std::vector<TokenId> end_ids = {301},
                                             std::string end = "</think>") {
  ThinkingLimit limit;
  limit.max_tokens = max_tokens;
  limit.markers = {.begin = "<think>", .end = std::move(end)};
  limit.end_ids = std::move(end_ids);
  limit.text_of = [](TokenId id) {
    return id < 256 ? std::string(1, static_cast<char>(id)) : Words().at(id);
  };
  return std::make_shared<const ThinkingLimit>(std::move(limit));
}

std::vector<TokenId> Bytes(std::string_view text) { return {text.begin(), text.end()}; }

// What an answer becomes whose model would say `wanted`.
std::vector<TokenId> Answer(ThinkingBudget budget, const std::vector<TokenId>& wanted) {
  std::vector<TokenId> answer;
  for (const TokenId token : wanted) {
    answer.push_back(budget.ForcedToken() >= 0 ? budget.ForcedToken() : token);
    budget.Hear(answer.back());
  }
  return answer;
}

TEST(ThinkingBudget, ForcesTheEndAfterSoManyTokensAndNothingAfterIt) {
  const std::vector<TokenId> wanted = Bytes("abcdefgh");
  for (int count = 0; count < 8; ++count) {
    std::vector<TokenId> expected = wanted;
    expected[static_cast<std::size_t>(count)] = 301;
    const ThinkingBudget budget(LimitOf(count), ReasoningStage::kInside);
    EXPECT_EQ(Answer(budget, wanted), expected) << count;
  }
  EXPECT_EQ(Answer(ThinkingBudget(LimitOf(8), ReasoningStage::kInside), wanted), wanted);
}

TEST(ThinkingBudget, ForcesNothingWhereThereIsNoReasoningOrItEndsInTime) {
  const std::vector<TokenId> wanted = Bytes("abcdefgh");
  EXPECT_EQ(Answer({}, wanted), wanted);
  EXPECT_EQ(Answer(ThinkingBudget(LimitOf(0), ReasoningStage::kOver), wanted), wanted);
  EXPECT_EQ(Answer(ThinkingBudget(LimitOf(0), ReasoningStage::kMayBegin), wanted), wanted);
  const ThinkingBudget three(LimitOf(3), ReasoningStage::kInside);
  EXPECT_EQ(Answer(three, {'a', 301, 'b', 'c', 'd'}),
            (std::vector<TokenId>{'a', 301, 'b', 'c', 'd'}));
  EXPECT_EQ(Answer(three, {'a', 302, 303, 'c', 'd'}),
            (std::vector<TokenId>{'a', 302, 303, 'c', 'd'}))
      << "the marker counts whatever tokens spell it";
}

TEST(ThinkingBudget, CountsFromTheMarkerThatTheAnswerBeginsWith) {
  const ThinkingBudget two(LimitOf(2), ReasoningStage::kMayBegin);
  EXPECT_EQ(Answer(two, {'\n', 300, 'a', 'b', 'c', 'd'}),
            (std::vector<TokenId>{'\n', 300, 'a', 'b', 301, 'd'}));
  std::vector<TokenId> spelled = Bytes("<think>abcd");
  spelled[9] = 301;
  EXPECT_EQ(Answer(two, Bytes("<think>abcd")), spelled);
  const std::vector<TokenId> later = Bytes("a<think>bcde");
  EXPECT_EQ(Answer(two, later), later) << "as the parsers of answers see it";
  const std::vector<TokenId> spaced = Bytes(std::string(256, ' ') + "<think>abcde");
  EXPECT_EQ(Answer(two, spaced), spaced);
}

TEST(ThinkingBudget, BelievesUnderAConstraintAMarkerAloneOnly) {
  ThinkingLimit limit = *LimitOf(1);
  limit.begins_exactly = true;
  const ThinkingBudget one(std::make_shared<const ThinkingLimit>(limit), ReasoningStage::kMayBegin);
  EXPECT_EQ(Answer(one, {300, 'a', 'b', 'c'}), (std::vector<TokenId>{300, 'a', 301, 'c'}));
  for (const TokenId first : {TokenId{'\n'}, TokenId{305}}) {
    const std::vector<TokenId> wanted = {first, 300, 'a', 'b', 'c'};
    EXPECT_EQ(Answer(one, wanted), wanted) << first;
  }
}

TEST(ThinkingBudget, SpellsAMarkerOfSeveralTokensGoingOnWithWhatIsThere) {
  const ThinkingBudget two(LimitOf(2, {302, 303}), ReasoningStage::kInside);
  EXPECT_EQ(Answer(two, Bytes("abcdef")), (std::vector<TokenId>{'a', 'b', 302, 303, 'e', 'f'}));
  EXPECT_EQ(Answer(two, {'a', 302, 'b', 'c'}), (std::vector<TokenId>{'a', 302, 303, 'c'}));
  EXPECT_EQ(Answer(two, {'a', '<', 'b', 'c'}), (std::vector<TokenId>{'a', '<', 302, 303}))
      << "half a token of it is no beginning";
  const ThinkingBudget bytes(LimitOf(3, Bytes("aaab"), "aaab"), ReasoningStage::kInside);
  EXPECT_EQ(Answer(bytes, Bytes("xaayyyy")), Bytes("xaaabyy"));
}

TEST(ThinkingBudget, AnEndInTheMidstOfATokenIsAnEnd) {
  const ThinkingBudget budget(LimitOf(9), ReasoningStage::kInside);
  std::vector<TokenId> wanted = Bytes("ab</thin");
  wanted.push_back(304);
  wanted.resize(40, 'x');
  EXPECT_EQ(Answer(budget, wanted), wanted);
}

TEST(ThinkingBudget, TellsHowManyTokensItSurelyLeavesFree) {
  EXPECT_GT(ThinkingBudget().num_free(), 1 << 30);
  EXPECT_GT(ThinkingBudget(LimitOf(2), ReasoningStage::kOver).num_free(), 1 << 30);
  ThinkingBudget budget(LimitOf(2), ReasoningStage::kMayBegin);
  std::vector<int> free;
  for (const TokenId token : {300, int{'a'}, int{'b'}, 301}) {
    free.push_back(budget.num_free());
    budget.Hear(token);
  }
  EXPECT_EQ(free, (std::vector<int>{2, 2, 1, 0}));
  EXPECT_GT(budget.num_free(), 1 << 30);
}

// The forced tokens of two requests, of which the second one has no budget, preempted before each
// of `preempt_at` steps. Drafts are proposed and never accepted.
std::vector<TokenId> ForcedOver(int num_steps, const std::vector<int>& preempt_at) {
  auto scheduler = *Scheduler::Create(SmallConfig());
  EngineRequest thinker = RequestOf(1, {300}, 20);
  thinker.thinking = LimitOf(3, {302, 303});
  thinker.reasoning = ReasoningStage::kInside;
  EXPECT_TRUE(scheduler->Add(std::move(thinker)).ok());
  EXPECT_TRUE(scheduler->Add(RequestOf(2, {300}, 20)).ok());
  std::vector<TokenId> forced;
  for (int step = 0; step < num_steps; ++step) {
    if (std::ranges::find(preempt_at, step) != preempt_at.end()) scheduler->PreemptAll();
    const StepPlan& plan = scheduler->Schedule();
    StepResult result = ResultOf(plan, 'a' + step);
    for (std::size_t i = 0; i < plan.rows.size(); ++i) {
      const ScheduledRow& row = plan.rows[i];
      result.rows[i].draft_tokens = {'x', 'y'};
      if (row.id == RequestId(2)) {
        EXPECT_EQ(row.forced_token, -1);
        continue;
      }
      // Only one, in step 1, leaves what is forced to a step of its own.
      const std::size_t max_drafts = step == 1 ? 1 : step < 5 ? 0 : 2;
      EXPECT_LE(row.draft_tokens.size(), max_drafts) << step;
      if (preempt_at.empty() && step == 1) {
        EXPECT_EQ(row.draft_tokens.size(), 1U);
      }
      forced.push_back(row.forced_token);
      if (row.forced_token >= 0) result.rows[i].tokens = {row.forced_token};
    }
    scheduler->Update(result);
  }
  return forced;
}

TEST(ThinkingBudget, IsKeptByTheSchedulerAlsoOverPreemptions) {
  const std::vector<TokenId> expected = {-1, -1, -1, 302, 303, -1, -1};
  EXPECT_EQ(ForcedOver(7, {}), expected);
  for (int step = 1; step < 6; ++step) EXPECT_EQ(ForcedOver(7, {step}), expected) << step;
  EXPECT_EQ(ForcedOver(7, {1, 2, 3, 4, 5}), expected);
}

}  // namespace
}  // namespace quire
