#include "ops/elementwise.h"

#include <cmath>

#include <gtest/gtest.h>

#include "ops/testing.h"
#include "ops/vocab.h"

namespace quire::ops {
namespace {

using kernels::RandomFloats;
using kernels::SameBits;

constexpr float kClose = 2e-6F;

TEST(RmsNorm, DividesByTheRootMeanSquare) {
  TestContext test;
  const auto x = RandomFloats(2 * 37, 1, 5.0F);
  const auto weight = RandomFloats(37, 2);
  std::vector<float> out(x.size());
  RmsNorm(test.ctx, F32View(x.data(), {2, 37}), F32View(weight.data(), {37}), 1e-5F,
          F32View(out.data(), {2, 37}));
  for (std::size_t r = 0; r < 2; ++r) {
    double sum = 0.0;
    for (std::size_t i = 0; i < 37; ++i) sum += double{x[r * 37 + i]} * x[r * 37 + i];
    const double scale = 1.0 / std::sqrt(sum / 37 + 1e-5);
    for (std::size_t i = 0; i < 37; ++i) {
      EXPECT_NEAR(out[r * 37 + i], x[r * 37 + i] * scale * weight[i], kClose);
    }
  }
}

TEST(RmsNorm, TakesEachHeadForARow) {
  TestContext test(2);
  const auto x = RandomFloats(5 * 3 * 8, 1);
  const auto weight = RandomFloats(8, 2);
  std::vector<float> heads(x.size());
  std::vector<float> rows(x.size());
  RmsNorm(test.ctx, F32View(x.data(), {5, 3, 8}), F32View(weight.data(), {8}), 1e-6F,
          F32View(heads.data(), {5, 3, 8}));
  RmsNorm(test.ctx, F32View(x.data(), {15, 8}), F32View(weight.data(), {8}), 1e-6F,
          F32View(rows.data(), {15, 8}));
  EXPECT_TRUE(SameBits(heads, rows));
}

TEST(LayerNorm, TakesTheMeanOutAndAddsTheBias) {
  TestContext test;
  const auto x = RandomFloats(19, 1, 5.0F);
  const auto weight = RandomFloats(19, 2);
  const auto bias = RandomFloats(19, 3);
  std::vector<float> out(x.size());
  LayerNorm(test.ctx, F32View(x.data(), {1, 19}), F32View(weight.data(), {19}),
            F32View(bias.data(), {19}), 1e-5F, F32View(out.data(), {1, 19}));
  double mean = 0.0;
  double var = 0.0;
  for (const float value : x) mean += value / 19.0;
  for (const float value : x) var += (value - mean) * (value - mean) / 19.0;
  for (std::size_t i = 0; i < 19; ++i) {
    EXPECT_NEAR(out[i], (x[i] - mean) / std::sqrt(var + 1e-5) * weight[i] + bias[i], kClose);
  }
}

TEST(GatedActivation, IsTheActivationOfTheGateTimesUp) {
  TestContext test(2);
  const auto gate = RandomFloats(3 * 9000, 1, 6.0F);
  const auto up = RandomFloats(3 * 9000, 2);
  const auto expect = [&](Activation activation, double (*function)(double)) {
    std::vector<float> out(gate.size());
    GatedActivation(test.ctx, activation, F32View(gate.data(), {3, 9000}),
                    F32View(up.data(), {3, 9000}), F32View(out.data(), {3, 9000}));
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double want = function(gate[i]) * up[i];
      ASSERT_NEAR(out[i], want, kClose * std::max(1.0, std::fabs(want))) << gate[i];
    }
  };
  expect(Activation::kSilu, [](double x) { return x / (1 + std::exp(-x)); });
  expect(Activation::kGelu, [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); });
  expect(Activation::kGeluTanh, [](double x) {
    return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  });
  expect(Activation::kRelu, [](double x) { return std::max(x, 0.0); });
  expect(Activation::kRelu2, [](double x) { return std::max(x, 0.0) * std::max(x, 0.0); });
}

TEST(Rope, TurnsPairsByTheAngleOfTheirPosition) {
  TestContext test;
  constexpr int kRotary = 6;
  std::vector<float> cos_sin;
  for (int position = 0; position < 4; ++position) {
    for (int i = 0; i < 3; ++i) cos_sin.push_back(std::cos(position * 0.5F * (i + 1)));
    for (int i = 0; i < 3; ++i) cos_sin.push_back(std::sin(position * 0.5F * (i + 1)));
  }
  const std::vector<std::int32_t> positions = {3, 0};
  for (const RopeStyle style : {RopeStyle::kHalf, RopeStyle::kInterleaved}) {
    const auto before = RandomFloats(2 * 2 * 8, 1);
    auto x = before;
    Rope(test.ctx, {cos_sin, 4, kRotary, style}, positions, F32View(x.data(), {2, 2, 8}));
    for (std::size_t head = 0; head < 4; ++head) {
      const auto position = static_cast<float>(positions[head / 2]);
      for (std::size_t i = 0; i < 3; ++i) {
        const std::size_t a = head * 8 + (style == RopeStyle::kHalf ? i : 2 * i);
        const std::size_t b = style == RopeStyle::kHalf ? a + 3 : a + 1;
        const float angle = position * 0.5F * static_cast<float>(i + 1);
        EXPECT_NEAR(x[a], before[a] * std::cos(angle) - before[b] * std::sin(angle), kClose);
        EXPECT_NEAR(x[b], before[b] * std::cos(angle) + before[a] * std::sin(angle), kClose);
      }
      EXPECT_EQ(x[head * 8 + 6], before[head * 8 + 6]);
      EXPECT_EQ(x[head * 8 + 7], before[head * 8 + 7]);
    }
  }
}

TEST(AddAndScale, WorkValueByValueOnAnyNumberOfThreads) {
  TestContext test(2);
  const auto a = RandomFloats(30'000, 1);
  const auto b = RandomFloats(30'000, 2);
  std::vector<float> out(a.size());
  const auto view = F32View(out.data(), {3, 10'000});
  Add(test.ctx, F32View(a.data(), {3, 10'000}), F32View(b.data(), {3, 10'000}), view);
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], a[i] + b[i]);
  Scale(test.ctx, F32View(a.data(), {3, 10'000}), 3.0F, view);
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], a[i] * 3.0F);
}

TEST(ArgMax, ChoosesTheFirstOfEqualsAndNeverNan) {
  const auto& table = kernels::TableUnderTest();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(ArgMax(table, std::vector<float>{nan, 1.0F, 3.0F, 3.0F, nan}), 2);
  EXPECT_EQ(ArgMax(table, std::vector<float>{nan, nan}), 0);
  EXPECT_EQ(ArgMax(table, std::vector<float>(50, -2.0F)), 0);
}

TEST(LogSumExpAndSoftmax, AgreeWithTheirFormulas) {
  const auto& table = kernels::TableUnderTest();
  auto row = RandomFloats(1003, 7, 20.0F);
  double sum = 0.0;
  for (const float value : row) sum += std::exp(double{value});
  EXPECT_NEAR(LogSumExp(table, row), std::log(sum), 1e-5);
  const auto logits = row;
  Softmax(table, row);
  for (std::size_t i = 0; i < row.size(); ++i) {
    EXPECT_NEAR(row[i], std::exp(double{logits[i]}) / sum, 1e-6);
  }
}

}  // namespace
}  // namespace quire::ops
