#include "sample/logprobs.h"

#include <gtest/gtest.h>

#include "sample/testing.h"

namespace quire {
namespace {

std::vector<TokenId> TokensOf(const PositionLogprobs& position) {
  std::vector<TokenId> tokens;
  for (const TokenLogprob& entry : position.entries) tokens.push_back(entry.token);
  return tokens;
}

std::vector<int> RanksOf(const PositionLogprobs& position) {
  std::vector<int> ranks;
  for (const TokenLogprob& entry : position.entries) ranks.push_back(entry.rank);
  return ranks;
}

TEST(Logprobs, AreThoseOfTheSoftmax) {
  TestRandom random(1);
  const std::vector<float> logits = RandomLogits(random, 5000, 20.0);
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(double{logit});
  const PositionLogprobs position = LogprobsOf(TestTable(), logits, 17, 10, {});
  ASSERT_EQ(position.entries.size(), 11U);
  for (const TokenLogprob& entry : position.entries) {
    EXPECT_NEAR(entry.logprob, logits[static_cast<std::size_t>(entry.token)] - std::log(sum), 1e-5);
  }
}

TEST(Logprobs, BeginWithTheTokenThenTheBestThenTheOnesAskedFor) {
  const std::vector<float> logits = {1, 5, 3, 4, 2};
  const std::vector<TokenId> extra = {0, 1};
  const PositionLogprobs position = LogprobsOf(TestTable(), logits, 2, 2, extra);
  EXPECT_EQ(TokensOf(position), (std::vector<TokenId>{2, 1, 3, 0, 1}));
  EXPECT_EQ(RanksOf(position), (std::vector<int>{3, 1, 2, 5, 1}));
}

TEST(Logprobs, OfNoneOtherIsTheTokenAlone) {
  EXPECT_EQ(TokensOf(LogprobsOf(TestTable(), std::vector<float>{1, 2}, 0, 0, {})),
            std::vector<TokenId>{0});
}

TEST(Logprobs, AmongEqualsLowerIdsComeFirst) {
  const std::vector<float> logits = {1, 2, 2, 2, 1};
  const PositionLogprobs position = LogprobsOf(TestTable(), logits, 2, 4, {});
  EXPECT_EQ(TokensOf(position), (std::vector<TokenId>{2, 1, 2, 3, 0}));
  // The token's own rank counts every equal, as in vLLM; the best ones are numbered.
  EXPECT_EQ(RanksOf(position), (std::vector<int>{3, 1, 2, 3, 4}));
}

TEST(Logprobs, MayBeMoreThanThereAreTokens) {
  EXPECT_EQ(TokensOf(LogprobsOf(TestTable(), std::vector<float>{1, 2, 3}, 0, 20, {})),
            (std::vector<TokenId>{0, 2, 1, 0}));
}

TEST(Logprobs, MaskedTokensAreNotAmongTheBest) {
  const std::vector<float> logits = {kMaskedLogit, 2, kMaskedLogit, 1};
  const std::vector<TokenId> extra = {0};
  const PositionLogprobs position = LogprobsOf(TestTable(), logits, 1, 4, extra);
  EXPECT_EQ(TokensOf(position), (std::vector<TokenId>{1, 1, 3, 0}));
  EXPECT_EQ(position.entries.back().logprob, kMaskedLogit);
}

TEST(Logprobs, OfAllGoById) {
  const std::vector<float> logits = {1, 5, kMaskedLogit, 5};
  const PositionLogprobs position = LogprobsOf(TestTable(), logits, 3, kAllLogprobs, {});
  EXPECT_EQ(TokensOf(position), (std::vector<TokenId>{3, 0, 1, 2, 3}));
  EXPECT_EQ(RanksOf(position), (std::vector<int>{2, 3, 1, 4, 2}));
}

TEST(Logprobs, TheBestAreThoseOfAFullSort) {
  TestRandom random(2);
  for (const int count : {1, 2, 5, 20, 500, 999, 1000}) {
    std::vector<float> logits = RandomLogits(random, 1000, 5.0);
    for (float& logit : logits) logit = std::round(logit * 4.0F) / 4.0F;  // many equals
    const auto order = ReferenceOrder(logits.size(), [&](std::size_t id) { return -logits[id]; });
    const PositionLogprobs position = LogprobsOf(TestTable(), logits, 0, count, {});
    ASSERT_EQ(position.entries.size(), static_cast<std::size_t>(count) + 1);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      EXPECT_EQ(position.entries[i + 1].token, static_cast<TokenId>(order[i])) << count;
    }
  }
}

}  // namespace
}  // namespace quire
