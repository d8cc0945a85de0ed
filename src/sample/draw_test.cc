#include "sample/draw.h"

#include <gtest/gtest.h>

#include "ops/vocab.h"
#include "sample/testing.h"

namespace quire {
namespace {

constexpr double kJustUnderOne = 1.0 - 0x1p-53;

TokenId Draw(const SamplingParams& params, double uniform, std::vector<float> logits) {
  DrawScratch scratch(static_cast<std::int32_t>(logits.size()));
  const TokenId best = ops::ArgMax(TestTable(), logits);
  return DrawToken(TestTable(), params, uniform, best, logits, scratch);
}

// The tokens that many evenly spread draws find: those that are not cut off.
std::set<TokenId> Reachable(const SamplingParams& params, const std::vector<float>& logits) {
  std::set<TokenId> tokens;
  for (int i = 0; i < 1000; ++i) tokens.insert(Draw(params, i / 1000.0, logits));
  tokens.insert(Draw(params, kJustUnderOne, logits));
  return tokens;
}

using Tokens = std::set<TokenId>;

// Logits whose softmax these probabilities are.
std::vector<float> LogitsOf(const std::vector<double>& probs) {
  std::vector<float> logits;
  logits.reserve(probs.size());
  for (const double probability : probs)
    logits.push_back(static_cast<float>(std::log(probability)));
  return logits;
}

TEST(Draw, GoesThroughTheTokensById) {
  const std::vector<float> logits = LogitsOf({0.1, 0.2, 0.3, 0.4});
  EXPECT_EQ(Draw({}, 0.0, logits), 0);
  EXPECT_EQ(Draw({}, 0.099, logits), 0);
  EXPECT_EQ(Draw({}, 0.101, logits), 1);
  EXPECT_EQ(Draw({}, 0.299, logits), 1);
  EXPECT_EQ(Draw({}, 0.301, logits), 2);
  EXPECT_EQ(Draw({}, 0.601, logits), 3);
  EXPECT_EQ(Draw({}, kJustUnderOne, logits), 3);
}

TEST(Draw, NeverPicksATokenWithoutProbability) {
  const std::vector<float> logits = {kMaskedLogit, 0, kMaskedLogit, 0, kMaskedLogit};
  SamplingParams params;
  EXPECT_EQ(Reachable(params, logits), (Tokens{1, 3}));
  params.top_p = 0.999;
  EXPECT_EQ(Reachable(params, logits), (Tokens{1, 3}));
  params.top_p = 1.0;
  params.top_k = 4;
  EXPECT_EQ(Reachable(params, logits), (Tokens{1, 3}));
  params.typical_p = 0.99;
  EXPECT_EQ(Reachable(params, logits), (Tokens{1, 3}));
}

TEST(Draw, TemperatureSharpensAndFlattens) {
  const std::vector<float> logits = {0, 1};
  SamplingParams params;
  params.temperature = 0.5;
  const double sharp = 1.0 / (1.0 + std::exp(2.0));
  EXPECT_EQ(Draw(params, sharp - 1e-5, logits), 0);
  EXPECT_EQ(Draw(params, sharp + 1e-5, logits), 1);
  params.temperature = 2.0;
  const double flat = 1.0 / (1.0 + std::exp(0.5));
  EXPECT_EQ(Draw(params, flat - 1e-5, logits), 0);
  EXPECT_EQ(Draw(params, flat + 1e-5, logits), 1);
}

TEST(Draw, TopKKeepsTiesWithTheKth) {
  SamplingParams params;
  params.top_k = 2;
  EXPECT_EQ(Reachable(params, {3, 2, 2, 1, 2}), (Tokens{0, 1, 2, 4}));
  EXPECT_EQ(Reachable(params, {3, 2, 1, 0, 4}), (Tokens{0, 4}));
  params.top_k = 1;
  EXPECT_EQ(Reachable(params, {1, 1, 0, 1, 0}), (Tokens{0, 1, 3}));
  params.top_k = 7777777;
  EXPECT_EQ(Reachable(params, {1, 1, 0, 1, 0}).size(), 5U);
}

TEST(Draw, TopPKeepsTheFewestBestThatReachIt) {
  const std::vector<float> logits = LogitsOf({0.1, 0.5, 0.15, 0.25});
  SamplingParams params;
  params.top_p = 0.49;
  EXPECT_EQ(Reachable(params, logits), (Tokens{1}));
  params.top_p = 0.51;
  EXPECT_EQ(Reachable(params, logits), (Tokens{1, 3}));
  params.top_p = 0.76;
  EXPECT_EQ(Reachable(params, logits), (Tokens{1, 2, 3}));
  params.top_p = 0.91;
  EXPECT_EQ(Reachable(params, logits), (Tokens{0, 1, 2, 3}));
  params.top_p = 1e-300;
  EXPECT_EQ(Reachable(params, logits), (Tokens{1}));
}

TEST(Draw, AmongEqualsTopPKeepsLowerIds) {
  SamplingParams params;
  params.top_p = 0.5;
  EXPECT_EQ(Reachable(params, {1, 1, 1, 1}), (Tokens{0, 1}));
}

TEST(Draw, TopPIsTakenOfWhatTopKLeaves) {
  const std::vector<float> logits = LogitsOf({0.4, 0.3, 0.2, 0.1});
  SamplingParams params;
  params.top_k = 2;
  params.top_p = 0.56;  // 0.4 / 0.7 = 0.571 of the two
  EXPECT_EQ(Reachable(params, logits), (Tokens{0}));
  params.top_p = 0.58;
  EXPECT_EQ(Reachable(params, logits), (Tokens{0, 1}));
}

TEST(Draw, MinPIsAShareOfTheBestAndComesBeforeTopP) {
  const std::vector<float> logits = LogitsOf({0.4, 0.3, 0.2, 0.1});
  SamplingParams params;
  params.min_p = 0.49;
  EXPECT_EQ(Reachable(params, logits), (Tokens{0, 1, 2}));
  params.min_p = 0.51;
  EXPECT_EQ(Reachable(params, logits), (Tokens{0, 1}));
  params.top_p = 0.56;
  EXPECT_EQ(Reachable(params, logits), (Tokens{0}));
  params.min_p = 1.0;
  params.top_p = 1.0;
  EXPECT_EQ(Reachable(params, {2, 1, 2}), (Tokens{0, 2}));
}

TEST(Draw, TypicalPKeepsTokensNearTheEntropy) {
  // The entropy is 1.089 nats; the distances are 0.58, 0.69, 1.2 and 1.2.
  const std::vector<double> probs = {0.6, 0.168, 0.1321, 0.0999};
  SamplingParams params;
  params.typical_p = 0.5;
  const std::vector<double> kept = ReferenceDistribution(params, LogitsOf(probs));
  Tokens expected;
  for (std::size_t id = 0; id < kept.size(); ++id) {
    if (kept[id] > 0.0) expected.insert(static_cast<TokenId>(id));
  }
  EXPECT_LT(expected.size(), 4U);
  EXPECT_EQ(Reachable(params, LogitsOf(probs)), expected);
}

TEST(Draw, NoTemperatureMakesNan) {
  const float largest = std::numeric_limits<float>::max();
  const std::vector<std::vector<float>> rows = {
      {-60, 60, 59.9F, 0}, {largest, -largest, 0, 1}, {kMaskedLogit, 1e-30F, 1e-38F, 0}, {-5}};
  for (const std::vector<float>& logits : rows) {
    for (const double temperature : {1e-5, 1e-4, 1e-2, 1.0, 2.0, 100.0, 1e30, 1e300}) {
      for (const double top_p : {1e-4, 0.5, 1.0}) {
        SamplingParams params;
        params.temperature = temperature;
        params.top_p = top_p;
        const TokenId token = Draw(params, 0.5, logits);
        ASSERT_GE(token, 0);
        ASSERT_LT(token, static_cast<TokenId>(logits.size()));
        EXPECT_NE(logits[static_cast<std::size_t>(token)], kMaskedLogit) << temperature;
      }
    }
  }
}

TEST(Draw, VerySmallTemperaturesTakeTheBest) {
  for (const double temperature : {1e-12, 1e-8, 1e-5, 1e-3}) {
    SamplingParams params;
    params.temperature = temperature;
    EXPECT_EQ(Reachable(params, {59.9F, 60, -60}), (Tokens{1})) << temperature;
  }
}

// Where the passes that gather candidates have to reach further down.
TEST(Draw, LargeFlatAndSteepVocabulariesAgreeWithTheReference) {
  TestRandom random(5);
  for (const double scale : {0.001, 1.0, 12.0, 60.0}) {
    const std::vector<float> logits = RandomLogits(random, 30000, scale);
    for (int variant = 0; variant < 6; ++variant) {
      SamplingParams params;
      params.top_k = variant % 2 == 0 ? 0 : 20000;
      params.top_p = variant < 2 ? 1.0 : 0.99999;
      params.typical_p = variant < 4 ? 1.0 : 0.9;
      // Among nearly equal probabilities, f32 decides which ones lie nearer to the entropy.
      if (scale < 1.0 && params.typical_p < 1.0) continue;
      const std::vector<double> probs = ReferenceDistribution(params, logits);
      for (int i = 0; i < 5; ++i) {
        const double uniform = random.Uniform();
        EXPECT_TRUE(IsPickedBy(uniform, Draw(params, uniform, logits), probs))
            << scale << " " << variant;
      }
    }
  }
}

}  // namespace
}  // namespace quire
