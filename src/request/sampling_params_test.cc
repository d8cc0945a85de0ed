#include "request/sampling_params.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace quire {
namespace {

constexpr int kVocabSize = 1000;
constexpr int kMaxLogprobs = 20;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The message that `change` to the defaults brings; empty when it is accepted.
template <typename Change>
std::string MessageAfter(Change change, int max_logprobs = kMaxLogprobs) {
  SamplingParams params;
  change(params);
  const Status status = params.Validate(kVocabSize, max_logprobs);
  EXPECT_EQ(status.code(), status.ok() ? Code::kOk : Code::kInvalidArgument);
  return status.message();
}

std::string MessageOf(double SamplingParams::*field, double value) {
  return MessageAfter([&](SamplingParams& params) { params.*field = value; });
}

std::string MessageOf(int SamplingParams::*field, int value) {
  return MessageAfter([&](SamplingParams& params) { params.*field = value; });
}

std::string MessageOf(std::optional<int> SamplingParams::*field, int value) {
  return MessageAfter([&](SamplingParams& params) { params.*field = value; });
}

struct DoubleRange {
  const char* name;
  double SamplingParams::*field;
  std::vector<double> accepted;
  std::vector<double> refused;
};

TEST(SamplingParams, TheDefaultsAreValid) {
  EXPECT_EQ(MessageAfter([](SamplingParams&) {}), "");
}

TEST(SamplingParams, NumbersAreAcceptedUpToTheirEdgesAndNoFurther) {
  const double above_one = std::nextafter(1.0, 2.0);
  const double tiny = std::numeric_limits<double>::denorm_min();
  const std::vector<DoubleRange> ranges = {
      {"temperature", &SamplingParams::temperature, {0, tiny, 1e-5, 2}, {-tiny, 2.0000001, -1}},
      {"top_p", &SamplingParams::top_p, {tiny, 1e-4, 1}, {0, -0.0, -0.1, above_one}},
      {"min_p", &SamplingParams::min_p, {0, tiny, 1}, {-tiny, above_one}},
      {"typical_p", &SamplingParams::typical_p, {tiny, 1}, {0, -1, above_one}},
      {"presence_penalty", &SamplingParams::presence_penalty, {-2, 0, 2}, {-2.001, 2.001}},
      {"frequency_penalty", &SamplingParams::frequency_penalty, {-2, 0, 2}, {-2.001, 2.001}},
      {"repetition_penalty",
       &SamplingParams::repetition_penalty,
       {1e-30, 1, 1e30},
       {0, -0.0, -1, 1e-300, 1e300}},
  };
  for (const DoubleRange& range : ranges) {
    for (const double value : range.accepted) {
      EXPECT_EQ(MessageOf(range.field, value), "") << range.name << " " << value;
    }
    std::vector<double> refused = range.refused;
    refused.insert(refused.end(), {kNan, kInfinity, -kInfinity});
    for (const double value : refused) {
      const std::string message = MessageOf(range.field, value);
      EXPECT_EQ(message.find(std::string(range.name) + ": must be "), 0U) << value << message;
    }
  }
}

TEST(SamplingParams, MessagesNameTheFieldTheRangeAndTheValue) {
  EXPECT_EQ(MessageOf(&SamplingParams::temperature, 3.0), "temperature: must be in [0, 2], got 3");
  EXPECT_EQ(MessageOf(&SamplingParams::top_p, 0.0), "top_p: must be in (0, 1], got 0");
  EXPECT_EQ(MessageOf(&SamplingParams::top_k, -2),
            "top_k: must be at least 1, or 0 or -1 for off, got -2");
  EXPECT_EQ(MessageOf(&SamplingParams::max_tokens, 0), "max_tokens: must be at least 1, got 0");
  EXPECT_EQ(MessageOf(&SamplingParams::n, 0), "n: must be in [1, 16384], got 0");
  EXPECT_EQ(MessageOf(&SamplingParams::logprobs, 50),
            "logprobs: must be in [0, 20] or -1 for all, got 50");
}

TEST(SamplingParams, TopKIsOffAtZeroAndMinusOneAndMayExceedTheVocabulary) {
  for (const int top_k : {-1, 0, 1, kVocabSize, 7777777, std::numeric_limits<int>::max()}) {
    EXPECT_EQ(MessageOf(&SamplingParams::top_k, top_k), "") << top_k;
  }
  EXPECT_NE(MessageOf(&SamplingParams::top_k, -2), "");
  EXPECT_NE(MessageOf(&SamplingParams::top_k, std::numeric_limits<int>::min()), "");
}

TEST(SamplingParams, SeveralOutputsNeedATemperature) {
  EXPECT_EQ(MessageOf(&SamplingParams::n, 16384), "");
  EXPECT_NE(MessageOf(&SamplingParams::n, 16385), "");
  EXPECT_NE(MessageOf(&SamplingParams::n, -1), "");
  EXPECT_EQ(MessageAfter([](SamplingParams& params) {
              params.n = 2;
              params.temperature = 0.0;
            }),
            "n: must be 1 where temperature is 0, as all outputs would be equal, got 2");
}

TEST(SamplingParams, MinTokensLieBetweenZeroAndMaxTokens) {
  EXPECT_EQ(MessageOf(&SamplingParams::min_tokens, 16), "");
  EXPECT_EQ(MessageOf(&SamplingParams::min_tokens, 17),
            "min_tokens: must be at most max_tokens, which is 16, got 17");
  EXPECT_NE(MessageOf(&SamplingParams::min_tokens, -1), "");
  EXPECT_EQ(MessageAfter([](SamplingParams& params) {
              params.max_tokens = std::nullopt;
              params.min_tokens = 1000000;
            }),
            "");
}

TEST(SamplingParams, LogprobsAreBoundedByMaxLogprobsAndTheVocabulary) {
  for (const auto field : {&SamplingParams::logprobs, &SamplingParams::prompt_logprobs}) {
    const auto message = [&](int count, int max_logprobs) {
      return MessageAfter([&](SamplingParams& params) { params.*field = count; }, max_logprobs);
    };
    EXPECT_EQ(message(0, kMaxLogprobs), "");
    EXPECT_EQ(message(20, kMaxLogprobs), "");
    EXPECT_NE(message(21, kMaxLogprobs), "");
    EXPECT_NE(message(-2, kMaxLogprobs), "");
    EXPECT_NE(message(kAllLogprobs, kMaxLogprobs), "");
    EXPECT_EQ(message(kAllLogprobs, kAllLogprobs), "");
    EXPECT_EQ(message(kAllLogprobs, kVocabSize), "");
    EXPECT_EQ(message(kVocabSize, kAllLogprobs), "");
    EXPECT_NE(message(kVocabSize + 1, kAllLogprobs), "");
    EXPECT_NE(message(500000, 1000000), "");
  }
}

TEST(SamplingParams, TokenIdsLieInTheVocabulary) {
  for (const TokenId id : {-1, kVocabSize, 999999, std::numeric_limits<TokenId>::min()}) {
    const std::string wanted = "must be token ids in [0, 1000), got " + std::to_string(id);
    EXPECT_EQ(MessageAfter([&](SamplingParams& params) {
                params.stop_token_ids = {5, id};
              }),
              "stop_token_ids: " + wanted);
    EXPECT_EQ(MessageAfter([&](SamplingParams& params) {
                params.logit_bias = {{5, 1.0F}, {id, 1.0F}};
              }),
              "logit_bias: " + wanted);
    EXPECT_EQ(MessageAfter([&](SamplingParams& params) {
                params.allowed_token_ids = std::vector<TokenId>{5, id};
              }),
              "allowed_token_ids: " + wanted);
    EXPECT_EQ(MessageAfter([&](SamplingParams& params) { params.logprob_token_ids = {id}; }),
              "logprob_token_ids: " + wanted);
    EXPECT_EQ(MessageAfter([&](SamplingParams& params) {
                params.bad_words_ids = {{3, id}};
              }),
              "bad_words: " + wanted);
  }
  EXPECT_EQ(MessageAfter([](SamplingParams& params) {
              params.stop_token_ids = {0, kVocabSize - 1};
              params.logit_bias = {{0, 1.0F}, {kVocabSize - 1, 1.0F}};
              params.allowed_token_ids = std::vector<TokenId>{0, kVocabSize - 1};
              params.logprob_token_ids = {0, kVocabSize - 1};
              params.bad_words_ids = {{0, kVocabSize - 1}};
            }),
            "");
}

TEST(SamplingParams, LogitBiasesAreNumbersButMayBeInfinite) {
  const auto message = [](float bias) {
    return MessageAfter([&](SamplingParams& params) { params.logit_bias = {{7, bias}}; });
  };
  EXPECT_EQ(message(1e30F), "");
  EXPECT_EQ(message(-std::numeric_limits<float>::infinity()), "");
  EXPECT_EQ(message(std::numeric_limits<float>::quiet_NaN()),
            "logit_bias: must be a number, got NaN for token 7");
}

TEST(SamplingParams, NoListMayBeEmptyWhereThatMeansNoAnswer) {
  EXPECT_EQ(MessageAfter(
                [](SamplingParams& params) { params.allowed_token_ids = std::vector<TokenId>{}; }),
            "allowed_token_ids: must not be empty");
  EXPECT_EQ(MessageAfter([](SamplingParams& params) {
              params.stop = {"a", ""};
            }),
            "stop: must not hold an empty string");
  EXPECT_EQ(MessageAfter([](SamplingParams& params) { params.bad_words = {""}; }),
            "bad_words: must not hold an empty string");
  EXPECT_EQ(MessageAfter([](SamplingParams& params) {
              params.bad_words_ids = {{1}, {}};
            }),
            "bad_words: one of them has no tokens");
}

TEST(SamplingParams, ListsAreBounded) {
  const auto message = [](auto change) { return MessageAfter(change); };
  EXPECT_EQ(message([](SamplingParams& p) { p.logprob_token_ids.assign(128, 1); }), "");
  EXPECT_NE(message([](SamplingParams& p) { p.logprob_token_ids.assign(129, 1); }), "");
  EXPECT_EQ(message([](SamplingParams& p) { p.stop.assign(1024, "x"); }), "");
  EXPECT_NE(message([](SamplingParams& p) { p.stop.assign(1025, "x"); }), "");
  EXPECT_EQ(message([](SamplingParams& p) { p.bad_words.assign(128, "x"); }), "");
  EXPECT_NE(message([](SamplingParams& p) { p.bad_words.assign(129, "x"); }), "");
  EXPECT_EQ(message([](SamplingParams& p) { p.bad_words_ids.assign(512, {1, 2}); }), "");
  EXPECT_NE(message([](SamplingParams& p) { p.bad_words_ids.assign(513, {1, 2}); }), "");
}

TEST(SamplingParams, LogprobsBesideChosenTokensMustBeAsManyAsThem) {
  const auto message = [](int count) {
    return MessageAfter([&](SamplingParams& params) {
      params.logprob_token_ids = {4, 5};
      params.logprobs = count;
    });
  };
  EXPECT_EQ(message(2), "");
  EXPECT_EQ(message(1), "logprobs: must be the length of logprob_token_ids, which is 2, got 1");
}

TEST(SamplingParams, StopStringsNeedDetokenization) {
  EXPECT_EQ(MessageAfter([](SamplingParams& params) {
              params.stop = {"a"};
              params.detokenize = false;
            }),
            "stop: needs detokenize, which is false");
}

TEST(SamplingParams, RepetitionNeedsSizesInOrderAndTwoOfAPattern) {
  const auto message = [](RepetitionDetection value) {
    return MessageAfter([&](SamplingParams& params) { params.repetition_detection = value; });
  };
  EXPECT_EQ(message({}), "");
  EXPECT_EQ(message({.max_pattern_size = 2048, .min_pattern_size = 2048, .min_count = 2}), "");
  EXPECT_EQ(message({.max_pattern_size = 2049, .min_count = 2}),
            "repetition_detection: max_pattern_size: must be in [0, 2048], got 2049");
  EXPECT_NE(message({.max_pattern_size = -1, .min_pattern_size = -1, .min_count = 2}), "");
  EXPECT_EQ(message({.max_pattern_size = 3, .min_pattern_size = 4, .min_count = 2}),
            "repetition_detection: min_pattern_size: must be at least 0 and at most "
            "max_pattern_size, which is 3, got 4");
  EXPECT_NE(message({.min_pattern_size = 1}), "");
  EXPECT_EQ(message({.max_pattern_size = 3, .min_count = 1}),
            "repetition_detection: min_count: must be at least 2 where max_pattern_size is not 0, "
            "got 1");
}

TEST(SamplingParams, TheBudgetOfTheReasoningIsACountOrMinusOneForNone) {
  for (const int budget : {-1, 0, 1 << 30}) {
    EXPECT_EQ(MessageOf(&SamplingParams::thinking_token_budget, budget), "") << budget;
  }
  EXPECT_EQ(MessageOf(&SamplingParams::thinking_token_budget, -2),
            "thinking_token_budget: must be at least 0, or -1 for no bound, got -2");
  SamplingParams params;
  EXPECT_FALSE(params.bounds_thinking());
  params.thinking_token_budget = -1;
  EXPECT_FALSE(params.bounds_thinking());
  EXPECT_EQ(params.Normalized().thinking_token_budget, std::nullopt);
  params.thinking_token_budget = 0;
  EXPECT_TRUE(params.bounds_thinking());
  EXPECT_EQ(params.Normalized().thinking_token_budget, 0);
}

TEST(SamplingParams, TruncationKeepsAtLeastOneToken) {
  EXPECT_EQ(MessageOf(&SamplingParams::truncate_prompt_tokens, -1), "");
  EXPECT_EQ(MessageOf(&SamplingParams::truncate_prompt_tokens, 1), "");
  EXPECT_NE(MessageOf(&SamplingParams::truncate_prompt_tokens, 0), "");
  EXPECT_NE(MessageOf(&SamplingParams::truncate_prompt_tokens, -2), "");
}

TEST(SamplingParams, GreedyRequestsLoseTheirCuts) {
  SamplingParams params;
  params.temperature = 0.99e-5;
  params.top_p = 0.5;
  params.top_k = 7;
  params.min_p = 0.1;
  params.typical_p = 0.5;
  const SamplingParams neutral = params.Normalized();
  EXPECT_TRUE(neutral.is_greedy());
  EXPECT_EQ(neutral.top_p, 1.0);
  EXPECT_EQ(neutral.top_k, 0);
  EXPECT_EQ(neutral.min_p, 0.0);
  EXPECT_EQ(neutral.typical_p, 1.0);
}

TEST(SamplingParams, LowTemperaturesAreRaisedAndOthersKept) {
  const auto raised = [](double temperature) {
    SamplingParams params;
    params.temperature = temperature;
    return params.Normalized().temperature;
  };
  EXPECT_EQ(raised(1e-5), kMinTemperature);
  EXPECT_EQ(raised(0.00999), kMinTemperature);
  EXPECT_EQ(raised(0.01), 0.01);
  EXPECT_EQ(raised(0.7), 0.7);
  EXPECT_EQ(raised(0.0), 0.0);
}

TEST(SamplingParams, NormalizedKeepsTheCutsOfSampledRequests) {
  SamplingParams params;
  params.top_p = 0.5;
  params.top_k = -1;
  params.min_p = 0.1;
  const SamplingParams neutral = params.Normalized();
  EXPECT_EQ(neutral.top_p, 0.5);
  EXPECT_EQ(neutral.top_k, 0);
  EXPECT_EQ(neutral.min_p, 0.1);
}

TEST(SamplingParams, NormalizedClampsBiasesAndDropsRepeats) {
  SamplingParams params;
  params.logit_bias = {{3, 1e9F}, {4, -1e9F}, {5, 2.0F}, {3, 1.0F}};
  params.stop_token_ids = {9, 2, 9, 2, 1};
  const SamplingParams neutral = params.Normalized();
  const std::vector<std::pair<TokenId, float>> biases = {{3, 1.0F}, {4, -100.0F}, {5, 2.0F}};
  EXPECT_EQ(neutral.logit_bias, biases);
  EXPECT_EQ(neutral.stop_token_ids, (std::vector<TokenId>{9, 2, 1}));
}

}  // namespace
}  // namespace quire
