#include "sample/sampler.h"

#include <gtest/gtest.h>

#include "base/count_allocations.h"
#include "sample/testing.h"

namespace quire {
namespace {

// A request of a test, which owns what its SamplingRow borrows.
struct TestRow {
  SamplingParams params;
  std::vector<TokenId> prompt;
  std::vector<TokenId> output;
  std::vector<TokenId> eos;
  std::vector<float> logits;
  std::uint64_t seed = 0;

  SamplingRow View() const {
    return {
        .params = &params, .seed = seed, .prompt = prompt, .output = output, .eos_token_ids = eos};
  }
  double Uniform() const { return UniformDraw(seed, output.size(), 0); }
};

// A sampler with so many threads.
class Bench {
 public:
  Bench(int vocab_size, int num_threads, LogprobsKind logprobs = {})
      : pool_({.num_threads = num_threads, .pin = false}), sampler_(vocab_size, logprobs) {}

  std::vector<SampledToken> Sample(const std::vector<TestRow>& rows) {
    std::vector<float> logits;
    std::vector<SamplingRow> views;
    for (const TestRow& row : rows) {
      logits.insert(logits.end(), row.logits.begin(), row.logits.end());
      views.push_back(row.View());
    }
    std::vector<SampledToken> out;
    Run(logits, views, out);
    return out;
  }

  void Run(std::vector<float>& logits, const std::vector<SamplingRow>& rows,
           std::vector<SampledToken>& out) {
    ops::OpContext ctx = {.table = &TestTable(), .pool = &pool_, .scratch = &scratch_};
    const auto num_rows = static_cast<std::int64_t>(rows.size());
    const auto vocab_size = static_cast<std::int64_t>(logits.size() / rows.size());
    sampler_.Sample(ctx, F32View(logits.data(), {num_rows, vocab_size}), rows, out);
  }

 private:
  ThreadPool pool_;
  ops::Scratch scratch_;
  Sampler sampler_;
};

std::vector<TokenId> RandomTokens(TestRandom& random, int count, int vocab_size) {
  std::vector<TokenId> tokens;
  tokens.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) tokens.push_back(random.Below(vocab_size));
  return tokens;
}

SamplingParams RandomParams(TestRandom& random, int vocab_size) {
  SamplingParams params;
  params.temperature = random.OneOf({0.0, 0.01, 0.3, 0.7, 1.0, 1.5, 2.0});
  params.top_p = random.OneOf({1.0, 1.0, 0.95, 0.9, 0.5, 0.1, 0.9999});
  params.top_k = random.OneOf({0, 0, 1, 5, 50, vocab_size / 2 + 1, 1000000});
  params.min_p = random.OneOf({0.0, 0.0, 0.01, 0.1, 0.9});
  params.typical_p = random.OneOf({1.0, 1.0, 1.0, 0.9, 0.3});
  params.presence_penalty = random.OneOf({0.0, 0.5, -2.0});
  params.frequency_penalty = random.OneOf({0.0, 0.7, -0.3});
  params.repetition_penalty = random.OneOf({1.0, 1.0, 1.3, 0.8});
  params.min_tokens = random.OneOf({0, 3});
  if (random.Below(3) == 0) params.logit_bias = {{random.Below(vocab_size), 3.0F}};
  if (random.Below(4) == 0) {
    params.allowed_token_ids = RandomTokens(random, 1 + vocab_size / 3, vocab_size);
  }
  if (random.Below(3) == 0) {
    params.bad_words_ids = {RandomTokens(random, 1, vocab_size),
                            RandomTokens(random, 2, vocab_size)};
  }
  return params.Normalized();
}

TestRow RandomRow(TestRandom& random, int vocab_size) {
  TestRow row;
  row.params = RandomParams(random, vocab_size);
  row.prompt = RandomTokens(random, 1 + random.Below(20), vocab_size);
  row.output = RandomTokens(random, random.Below(10), vocab_size);
  row.eos = {random.Below(vocab_size)};
  row.logits = RandomLogits(random, vocab_size, random.OneOf({0.1, 3.0, 12.0}));
  if (random.Below(3) == 0) {  // equals, as quantized models have them
    for (float& logit : row.logits) logit = std::round(logit * 2.0F) / 2.0F;
  }
  row.seed = static_cast<std::uint64_t>(random.Below(1 << 30));
  return row;
}

void ExpectAsReference(const TestRow& row, const SampledToken& sampled) {
  const std::vector<float> edited = ReferenceEdits(row.View(), row.logits);
  const auto best = std::max_element(edited.begin(), edited.end());
  if (*best == kMaskedLogit) {
    EXPECT_FALSE(sampled.error.ok());
    return;
  }
  ASSERT_TRUE(sampled.error.ok()) << sampled.error.message();
  if (row.params.is_greedy()) {
    EXPECT_EQ(sampled.token, best - edited.begin());
    return;
  }
  EXPECT_TRUE(IsPickedBy(row.Uniform(), sampled.token, ReferenceDistribution(row.params, edited)));
}

TEST(Sampler, AgreesWithTheObviousSampler) {
  TestRandom random(11);
  for (const int vocab_size : {1, 2, 7, 33, 300, 2000}) {
    Bench bench(vocab_size, 2);
    for (int round = 0; round < 40; ++round) {
      std::vector<TestRow> rows;
      rows.reserve(5);
      for (int i = 0; i < 5; ++i) rows.push_back(RandomRow(random, vocab_size));
      const std::vector<SampledToken> sampled = bench.Sample(rows);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        SCOPED_TRACE(testing::Message() << vocab_size << "/" << round << "/" << i);
        ExpectAsReference(rows[i], sampled[i]);
      }
    }
  }
}

TEST(Sampler, ARowsTokenDependsOnNothingButTheRow) {
  constexpr int kVocabSize = 500;
  TestRandom random(12);
  std::vector<TestRow> rows;
  for (int i = 0; i < 13; ++i) {
    rows.push_back(RandomRow(random, kVocabSize));
    rows.back().params.logprobs = 5;
  }
  std::vector<SampledToken> alone;
  Bench one(kVocabSize, 1);
  alone.reserve(rows.size());
  for (const TestRow& row : rows) alone.push_back(one.Sample({row}).front());
  for (const int num_threads : {1, 2, 3, 5}) {
    Bench bench(kVocabSize, num_threads);
    const std::vector<SampledToken> together = bench.Sample(rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(together[i].token, alone[i].token) << i;
      ASSERT_EQ(together[i].logprobs.entries.size(), alone[i].logprobs.entries.size());
      for (std::size_t j = 0; j < alone[i].logprobs.entries.size(); ++j) {
        EXPECT_EQ(together[i].logprobs.entries[j].logprob, alone[i].logprobs.entries[j].logprob);
      }
    }
  }
}

TEST(Sampler, DrawsFollowTheDistribution) {
  constexpr int kDraws = 20000;
  TestRow row;
  row.logits = {0, 1, 2, 3, -1, 1.5F, 0.5F, 2.5F};
  row.params.temperature = 1.3;
  row.params.top_k = 6;
  const std::vector<double> probs = ReferenceDistribution(row.params, row.logits);
  Bench bench(8, 1);
  std::vector<int> counts(8);
  for (int i = 0; i < kDraws; ++i) {
    row.seed = static_cast<std::uint64_t>(i);
    ++counts[static_cast<std::size_t>(bench.Sample({row}).front().token)];
  }
  double chi_square = 0.0;
  for (std::size_t id = 0; id < probs.size(); ++id) {
    if (probs[id] == 0.0) {
      EXPECT_EQ(counts[id], 0) << id;
      continue;
    }
    const double expected = probs[id] * kDraws;
    chi_square += (counts[id] - expected) * (counts[id] - expected) / expected;
  }
  EXPECT_LT(chi_square, 15.1) << "of 5 degrees of freedom: 1 % of fair samples exceed it";
}

TEST(Sampler, DrawsOfOneSeedFollowTheDistributionOverPositions) {
  constexpr int kDraws = 4000;
  TestRow row;
  row.seed = 42;
  row.logits = {0, 0, 0, 0};
  Bench bench(4, 1);
  std::vector<int> counts(4);
  for (int i = 0; i < kDraws; ++i) {
    ++counts[static_cast<std::size_t>(bench.Sample({row}).front().token)];
    row.output.push_back(0);
  }
  double chi_square = 0.0;
  for (const int count : counts) {
    chi_square += (count - kDraws / 4.0) * (count - kDraws / 4.0) / (kDraws / 4.0);
  }
  EXPECT_LT(chi_square, 11.3) << "of 3 degrees of freedom: 1 % of fair samples exceed it";
}

TEST(Sampler, GreedyTakesTheLowestIdAmongEquals) {
  TestRow row;
  row.params.temperature = 0.0;
  row.logits = {1, 3, 3, 2};
  EXPECT_EQ(Bench(4, 1).Sample({row}).front().token, 1);
}

TEST(Sampler, BrokenLogitsFailTheirRowOnly) {
  const float infinity = std::numeric_limits<float>::infinity();
  TestRow good;
  good.params.temperature = 0.0;
  good.logits = {1, 2, 3};
  TestRow nan = good;
  nan.logits[1] = std::nanf("");
  TestRow infinite = good;
  infinite.logits[2] = infinity;
  TestRow masked = good;
  masked.logits.assign(3, -infinity);
  TestRow sampled = nan;
  sampled.params.temperature = 1.0;
  const auto out = Bench(3, 2).Sample({good, nan, good, infinite, masked, sampled, good});
  for (const std::size_t i : {0U, 2U, 6U}) {
    EXPECT_TRUE(out[i].error.ok());
    EXPECT_EQ(out[i].token, 2);
  }
  EXPECT_EQ(out[1].error.message(), "logits: token 1 has nan");
  EXPECT_EQ(out[3].error.message(), "logits: token 2 has inf");
  EXPECT_EQ(out[4].error.message(), "the request's constraints leave no token to choose");
  EXPECT_EQ(out[5].error.code(), Code::kInternal);
  for (const std::size_t i : {1U, 3U, 4U, 5U}) EXPECT_EQ(out[i].token, -1);
}

TEST(Sampler, ANanUnderAMaskIsAnErrorStill) {
  TestRow row;
  row.logits = {1, std::nanf(""), 3};
  row.params.allowed_token_ids = std::vector<TokenId>{0};
  EXPECT_FALSE(Bench(3, 1).Sample({row}).front().error.ok());
}

TEST(Sampler, ErrorsOfAnEarlierStepAreGone) {
  Bench bench(2, 1);
  std::vector<SampledToken> out(1);
  out[0].error = Internal("old");
  out[0].logprobs.entries.resize(3);
  TestRow row;
  row.params.temperature = 0.0;
  std::vector<float> logits = {0, 1};
  bench.Run(logits, {row.View()}, out);
  EXPECT_TRUE(out[0].error.ok());
  EXPECT_TRUE(out[0].logprobs.entries.empty());
  EXPECT_EQ(out[0].token, 1);
}

TEST(Sampler, LogprobsAreOfTheLogitsBeforeAllButTheGrammar) {
  TestRow row;
  row.logits = {1, 2, 3, 4};
  row.params.temperature = 0.0;
  row.params.logprobs = 2;
  row.params.logit_bias = {{0, 100.0F}};
  row.params.logprob_token_ids = {2, 3};
  SamplingRow view = row.View();
  const std::vector<std::uint32_t> mask = {0b0111};
  view.grammar_mask = mask;
  std::vector<float> logits = row.logits;
  std::vector<SampledToken> out;
  Bench(4, 1).Run(logits, {view}, out);
  ASSERT_TRUE(out[0].error.ok());
  const std::vector<TokenLogprob>& entries = out[0].logprobs.entries;
  ASSERT_EQ(entries.size(), 5U);
  const std::vector<TokenId> tokens = {0, 2, 1, 2, 3};
  const double log_sum = std::log(std::exp(1.0) + std::exp(2.0) + std::exp(3.0));
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(entries[i].token, tokens[i]) << i;
  EXPECT_NEAR(entries[0].logprob, 1.0 - log_sum, 1e-6);
  EXPECT_EQ(entries[0].rank, 3);
  EXPECT_NEAR(entries[1].logprob, 3.0 - log_sum, 1e-6);
  EXPECT_EQ(entries[4].logprob, kMaskedLogit);
}

TEST(Sampler, LogprobsMayBeOfTheLogitsThatTheTokenWasDrawnFrom) {
  TestRow row;
  row.logits = {1, 2, 3, 4};
  row.params.temperature = 0.5;
  row.params.top_k = 2;
  row.params.logprobs = 4;
  row.params.logit_bias = {{0, 2.5F}};  // 3.5, 2, 3, 4: tokens 3 and 0 are left
  const auto entry = [](const SampledToken& sampled, TokenId token) {
    for (const TokenLogprob& one : sampled.logprobs.entries) {
      if (one.token == token) return one.logprob;
    }
    return kMaskedLogit;
  };
  const SampledToken logits =
      Bench(4, 1, {.is_processed = true, .is_logits = true}).Sample({row})[0];
  EXPECT_FLOAT_EQ(entry(logits, 3), 8.0F);
  EXPECT_FLOAT_EQ(entry(logits, 0), 7.0F);
  EXPECT_EQ(entry(logits, 2), kMaskedLogit);
  const SampledToken logprobs = Bench(4, 1, {.is_processed = true}).Sample({row})[0];
  EXPECT_NEAR(entry(logprobs, 3), -std::log1p(std::exp(-1.0)), 1e-6);
  EXPECT_EQ(logprobs.token, logits.token);
  row.params.top_k = 0;
  const SampledToken whole =
      Bench(4, 1, {.is_processed = true, .is_logits = true}).Sample({row})[0];
  EXPECT_FLOAT_EQ(entry(whole, 1), 4.0F);
  row.params.temperature = 0.0;
  const SampledToken best = Bench(4, 1, {.is_processed = true, .is_logits = true}).Sample({row})[0];
  EXPECT_FLOAT_EQ(entry(best, 0), 3.5F) << "greedy: edited, and nothing else";
  const SampledToken raw = Bench(4, 1, {.is_logits = true}).Sample({row})[0];
  EXPECT_FLOAT_EQ(entry(raw, 0), 1.0F);
  EXPECT_EQ(raw.logprobs.entries[0].token, 3);
}

TEST(Sampler, TheGrammarBindsSampledTokensToo) {
  TestRow row;
  row.logits.assign(100, 1.0F);
  const std::vector<std::uint32_t> mask = {0, 0, 0b1001, 0};
  Bench bench(100, 1);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SamplingRow view = row.View();
    view.seed = seed;
    view.grammar_mask = mask;
    std::vector<float> logits = row.logits;
    std::vector<SampledToken> out;
    bench.Run(logits, {view}, out);
    EXPECT_TRUE(out[0].token == 64 || out[0].token == 67) << out[0].token;
  }
}

TEST(Sampler, NoTemperatureFailsOnLogitsOfHalfPrecision) {
  TestRandom random(3);
  TestRow row;
  row.logits = RandomLogits(random, 200, 30.0);
  row.logits[7] = 60.0F;
  row.logits[8] = -60.0F;
  Bench bench(200, 1);
  for (const double temperature : {0.0, 1e-12, 1e-8, 1e-6, 1e-5, 1e-4, 1e-2, 2.0, 100.0}) {
    for (const double top_p : {1e-4, 1.0}) {
      row.params = SamplingParams();
      row.params.temperature = temperature;
      row.params.top_p = top_p;
      row.params = row.params.Normalized();
      const SampledToken sampled = bench.Sample({row}).front();
      EXPECT_TRUE(sampled.error.ok()) << temperature;
      EXPECT_TRUE(temperature > 1e-2 || sampled.token == 7) << temperature;
    }
  }
}

TEST(Sampler, AllocatesNothingWhenWarm) {
  constexpr int kVocabSize = 3000;
  TestRandom random(4);
  Bench bench(kVocabSize, 2);
  std::vector<TestRow> rows;
  for (int i = 0; i < 40; ++i) {
    rows.push_back(RandomRow(random, kVocabSize));
    rows.back().params.allowed_token_ids.reset();
    rows.back().params.logprobs = 7;
  }
  std::vector<float> all;
  std::vector<SamplingRow> views;
  for (const TestRow& row : rows) {
    all.insert(all.end(), row.logits.begin(), row.logits.end());
    views.push_back(row.View());
  }
  std::vector<float> logits = all;
  std::vector<SampledToken> out;
  bench.Run(logits, views, out);
  std::copy(all.begin(), all.end(), logits.begin());
  const std::int64_t before = NumAllocations();
  bench.Run(logits, views, out);
  EXPECT_EQ(NumAllocations(), before);
}

}  // namespace
}  // namespace quire
