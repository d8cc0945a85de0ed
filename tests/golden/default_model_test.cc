// The default model against a float32 run of its published implementation.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/test_data.h"
#include "golden/reference.h"
#include "golden/rig.h"
#include "model/locate.h"

namespace quire::golden {
namespace {

constexpr std::size_t kWindow = 512;  // tokens of a perplexity window

// How far a precision may leave the reference.
struct Precision {
  std::string name;
  ops::MatmulPrecision precision;
  double tie_gap;     // another best token is allowed where the reference's two best are nearer
  double logprob;     // largest distance of a recorded logprob
  double perplexity;  // relative
  DType kv_dtype = DType::kF32;
};

void PrintTo(const Precision& precision, std::ostream* out) { *out << precision.name; }

std::string ValueOf(const char* variable) {
  const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? std::string() : std::string(value);
}

class DefaultModelTest : public ::testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    const Result<std::string> model =
        LocateModel("", {.home = ValueOf("HOME"), .quire_cache = ValueOf("QUIRE_CACHE")});
    if (!model.ok()) GTEST_SKIP() << model.status().message();
    const std::string folder = TestDataPath("smollm2");
    if (folder.empty()) GTEST_SKIP() << "smollm2 is absent from the reference data";
    Result<Reference> reference = ReadReference(folder);
    ASSERT_TRUE(reference.ok()) << reference.status().message();
    reference_ = *std::move(reference);
    Result<std::unique_ptr<Rig>> rig = Rig::Create(
        *model,
        {.precision = GetParam().precision, .num_threads = 2, .kv_dtype = GetParam().kv_dtype});
    ASSERT_TRUE(rig.ok()) << rig.status().message();
    rig_ = *std::move(rig);
  }

  // Logits of every position of `tokens`.
  Rows LogitsOf(std::span<const TokenId> tokens, std::int64_t chunk = 0) {
    Sequence sequence = rig_->NewSequence();
    Rows logits = rig_->Run(sequence, tokens, chunk).logits;
    rig_->Free(sequence);
    return logits;
  }

  // Of the logprobs that the reference records for the step.
  static double LargestDistance(std::span<const float> row, const ReferencePrompt& prompt,
                                std::size_t step) {
    double largest = 0.0;
    for (std::size_t i = 0; i < prompt.top_ids[step].size(); ++i) {
      const double logprob = Logprob(row, prompt.top_ids[step][i]);
      largest = std::max(largest, std::abs(logprob - prompt.top_logprobs[step][i]));
    }
    return largest;
  }

  Reference reference_;
  std::unique_ptr<Rig> rig_;
};

// Feeds the reference's tokens: the step that first takes another one is the step at which a free
// run leaves the reference.
TEST_P(DefaultModelTest, GreedyDecodingLeavesTheReferenceOnlyWhereItIsNearlyTied) {
  std::size_t num_left = 0;
  for (const ReferencePrompt& prompt : reference_.prompts) {
    std::vector<TokenId> tokens = prompt.ids;
    tokens.insert(tokens.end(), prompt.greedy.begin(), prompt.greedy.end() - 1);
    const Rows logits = LogitsOf(tokens);
    const std::int64_t first = static_cast<std::int64_t>(prompt.ids.size()) - 1;
    double largest = 0.0;
    std::size_t same = prompt.greedy.size();
    for (std::size_t step = prompt.greedy.size(); step-- > 0;) {
      const auto row = logits[first + static_cast<std::int64_t>(step)];
      if (BestToken(row) != prompt.greedy[step]) same = step;
      largest = std::max(largest, LargestDistance(row, prompt, step));
    }
    EXPECT_LE(largest, GetParam().logprob) << prompt.name;
    if (same == prompt.greedy.size()) continue;
    ++num_left;
    EXPECT_LT(prompt.gaps[same], GetParam().tie_gap) << prompt.name << " step " << same;
  }
  RecordProperty("prompts_left", std::to_string(num_left));
}

TEST_P(DefaultModelTest, DecodingTokenByTokenGivesTheBitsOfOnePass) {
  const ReferencePrompt& prompt = reference_.prompts.back();
  std::vector<TokenId> tokens = prompt.ids;
  tokens.insert(tokens.end(), prompt.greedy.begin(), prompt.greedy.begin() + 8);
  const Rows whole = LogitsOf(tokens);
  EXPECT_EQ(whole.values, LogitsOf(tokens, 1).values);
  EXPECT_EQ(whole.values, LogitsOf(tokens, 16).values);
}

TEST_P(DefaultModelTest, PerplexityIsTheReferences) {
  const Json& expected = *reference_.json.Find("perplexity");
  const std::vector<TokenId> ids = TokenIds(*expected.Find("token_ids"));
  double all = 0.0, second_half = 0.0;
  std::size_t num_windows = 0;
  for (std::size_t begin = 0; begin + kWindow <= ids.size(); begin += kWindow, ++num_windows) {
    const std::span window = std::span(ids).subspan(begin, kWindow);
    const Rows logits = LogitsOf(window);
    for (std::size_t i = 1; i < kWindow; ++i) {
      const double loss = -Logprob(logits[static_cast<std::int64_t>(i) - 1], window[i]);
      all += loss;
      if (i > kWindow / 2) second_half += loss;
    }
  }
  const double windows = static_cast<double>(num_windows);
  const double ppl_all = std::exp(all / (windows * (kWindow - 1)));
  const double ppl_second = std::exp(second_half / (windows * (kWindow - 1 - kWindow / 2)));
  const double bound = GetParam().perplexity;
  const double expected_all = expected.Find("ppl_all")->number();
  const double expected_second = expected.Find("ppl_second_half")->number();
  EXPECT_NEAR(ppl_all, expected_all, bound * expected_all);
  EXPECT_NEAR(ppl_second, expected_second, bound * expected_second);
  RecordProperty("ppl_all", std::to_string(ppl_all));
  RecordProperty("ppl_second_half", std::to_string(ppl_second));
}

const Precision kPrecisions[] = {
    {"Float32", ops::MatmulPrecision::kFloat32, 0.002, 2e-3, 1e-3},
    // What --kv-cache-dtype auto is with these, by the instruction set.
    {"FastFloat16Cache", ops::MatmulPrecision::kFast, 0.3, 1.5, 1e-2, DType::kF16},
    {"FastBFloat16Cache", ops::MatmulPrecision::kFast, 0.3, 1.5, 1e-2, DType::kBF16},
    {"Float32Int8Cache", ops::MatmulPrecision::kFloat32, 0.3, 1.5, 5e-3, DType::kI8},
};

std::string CaseName(const ::testing::TestParamInfo<Precision>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Precisions, DefaultModelTest, ::testing::ValuesIn(kPrecisions), CaseName);

}  // namespace
}  // namespace quire::golden
