#include <cmath>

#include "base/half.h"
#include "kernels/matmul.h"
#include "kernels/testing.h"

namespace quire::kernels {
namespace {

class MatmulBf16 : public testing::Test {
 protected:
  void SetUp() override {
    if (kernel_.matmul == nullptr) GTEST_SKIP() << "this ISA has no products of bf16";
  }

  const Bf16Kernel& kernel_ = TableUnderTest().bf16;
};

std::vector<std::uint16_t> Rounded(const Bf16Kernel& kernel, const std::vector<float>& x) {
  std::vector<std::uint16_t> out(x.size());
  kernel.round(x.data(), static_cast<std::int64_t>(x.size()), out.data());
  return out;
}

struct Problem {
  std::int64_t rows = 1;
  std::int64_t outputs = 1;
  std::int64_t depth = 1;
  bool has_bias = false;
  bool accumulate = false;
};

std::vector<float> RandomX(const Problem& p) { return RandomFloats(p.rows * p.depth, 1); }

std::vector<std::uint16_t> RandomWeights(const Problem& p) {
  std::vector<std::uint16_t> weights;
  for (const float value : RandomFloats(p.outputs * p.depth, 2)) {
    weights.push_back(ToBf16(value).bits);
  }
  return weights;
}

// [rows, outputs + 3], what is not an output staying as it was.
std::vector<float> Multiply(const Bf16Kernel& kernel, const Problem& p, const std::vector<float>& x,
                            const std::vector<std::uint16_t>& weights) {
  const auto rounded = Rounded(kernel, x);
  const auto bias = RandomFloats(p.outputs, 3);
  const std::int64_t stride = p.outputs + 3;
  auto out = RandomFloats(p.rows * stride, 4);
  kernel.matmul({.x = rounded.data(),
                 .rows = p.rows,
                 .weights = reinterpret_cast<const std::byte*>(weights.data()),
                 .outputs = p.outputs,
                 .depth = p.depth,
                 .out = out.data(),
                 .out_stride = stride,
                 .bias = p.has_bias ? bias.data() : nullptr,
                 .accumulate = p.accumulate});
  return out;
}

// Against double precision over x as it was, with the bound of the contract.
void ExpectWithinBound(const Bf16Kernel& kernel, const Problem& p, const std::vector<float>& x,
                       const std::vector<std::uint16_t>& weights) {
  const auto out = Multiply(kernel, p, x, weights);
  const auto bias = RandomFloats(p.outputs, 3);
  const std::int64_t stride = p.outputs + 3;
  const auto before = RandomFloats(p.rows * stride, 4);
  const double relative =
      std::ldexp(1.0, -8) + (static_cast<double>(p.depth) / 16 + 6) * std::ldexp(1.0, -23);
  for (std::int64_t r = 0; r < p.rows; ++r) {
    for (std::int64_t o = 0; o < stride; ++o) {
      const float got = out[static_cast<std::size_t>(r * stride + o)];
      const float old = before[static_cast<std::size_t>(r * stride + o)];
      if (o >= p.outputs) {
        ASSERT_EQ(got, old) << "beyond the outputs";
        continue;
      }
      double sum = 0.0;
      double size = 0.0;
      double largest = 0.0;
      for (std::int64_t i = 0; i < p.depth; ++i) {
        const Bf16 weight{weights[static_cast<std::size_t>(o * p.depth + i)]};
        const double w = ToFloat(weight);
        const double value = x[static_cast<std::size_t>(r * p.depth + i)];
        sum += w * value;
        size += std::fabs(w * value);
        largest = std::max({largest, std::fabs(w), std::fabs(value)});
      }
      double bound = relative * size + static_cast<double>(p.depth) * 1.2e-38 * largest;
      if (p.has_bias) sum += bias[static_cast<std::size_t>(o)];
      if (p.accumulate) sum += old;
      if (p.has_bias || p.accumulate) bound += (std::fabs(sum) + size + 2) * 1.2e-7;
      ASSERT_LE(std::fabs(got - sum), bound) << p.rows << " " << p.outputs << " " << p.depth;
    }
  }
}

TEST_F(MatmulBf16, StaysWithinItsBoundForEveryDepthAndNumberOfOutputs) {
  for (std::int64_t depth = 1; depth <= 130; ++depth) {
    const Problem p = {.rows = 3, .outputs = 6, .depth = depth};
    ExpectWithinBound(kernel_, p, RandomX(p), RandomWeights(p));
  }
  for (std::int64_t outputs = 1; outputs <= 9; ++outputs) {
    const Problem p = {.rows = 7,
                       .outputs = outputs,
                       .depth = 576,
                       .has_bias = outputs % 2 == 0,
                       .accumulate = outputs % 3 == 0};
    ExpectWithinBound(kernel_, p, RandomX(p), RandomWeights(p));
  }
}

TEST_F(MatmulBf16, StaysWithinItsBoundOnHardRows) {
  const Problem p = {.rows = 5, .outputs = 8, .depth = 96};
  auto x = RandomX(p);
  x[10] = 1e4F;
  std::fill_n(x.begin() + 96, 96, 0.0F);
  std::fill_n(x.begin() + 2 * 96, 96, 1e-40F);
  std::fill_n(x.begin() + 3 * 96, 96, 1.00390625F);  // halfway between two bf16
  ExpectWithinBound(kernel_, p, x, RandomWeights(p));
}

TEST_F(MatmulBf16, GivesARowTheSameBitsAmongAnyNumberOfRows) {
  const Problem all = {.rows = 130, .outputs = 11, .depth = 100};
  const auto weights = RandomWeights(all);
  const auto x = RandomX(all);
  Problem one = all;
  one.rows = 1;
  one.outputs = 1;
  // [rows, outputs], each output alone.
  std::vector<float> alone;
  for (std::int64_t r = 0; r < all.rows; ++r) {
    const std::vector<float> row(x.begin() + r * all.depth, x.begin() + (r + 1) * all.depth);
    for (std::int64_t o = 0; o < all.outputs; ++o) {
      const std::vector<std::uint16_t> weight(weights.begin() + o * all.depth,
                                              weights.begin() + (o + 1) * all.depth);
      alone.push_back(Multiply(kernel_, one, row, weight)[0]);
    }
  }
  for (std::int64_t rows = 1; rows <= all.rows; ++rows) {
    Problem part = all;
    part.rows = rows;
    const std::vector<float> some(x.begin(), x.begin() + rows * all.depth);
    const auto out = Multiply(kernel_, part, some, weights);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t o = 0; o < all.outputs; ++o) {
        ASSERT_TRUE(SameBits(out[static_cast<std::size_t>(r * (all.outputs + 3) + o)],
                             alone[static_cast<std::size_t>(r * all.outputs + o)]))
            << rows << " " << r << " " << o;
      }
    }
  }
}

TEST_F(MatmulBf16, KeepsNanAndInfinityInTheirOwnRow) {
  const Problem p = {.rows = 8, .outputs = 5, .depth = 40};
  auto x = RandomX(p);
  const auto weights = RandomWeights(p);
  const auto clean = Multiply(kernel_, p, x, weights);
  x[2 * 40 + 7] = std::numeric_limits<float>::quiet_NaN();
  x[5 * 40 + 39] = -INFINITY;
  const auto out = Multiply(kernel_, p, x, weights);
  for (std::size_t r = 0; r < 8; ++r) {
    for (std::size_t o = 0; o < 5; ++o) {
      const float got = out[r * 8 + o];
      if (r == 2) {
        EXPECT_TRUE(std::isnan(got));
      } else if (r == 5) {
        EXPECT_FALSE(std::isfinite(got));
      } else {
        EXPECT_EQ(got, clean[r * 8 + o]);
      }
    }
  }
}

TEST_F(MatmulBf16, RoundsEveryLengthToNearestEvenAndWritesNoMore) {
  for (std::int64_t n = 1; n <= 100; ++n) {
    auto x = RandomFloats(n, static_cast<std::uint64_t>(n), 300.0F);
    x[0] = 1.00390625F;
    std::vector<std::uint16_t> out(x.size() + 1, 0x1234);
    kernel_.round(x.data(), n, out.data());
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(out[i], ToBf16(x[i]).bits) << n;
    EXPECT_EQ(out.back(), 0x1234);
  }
}

}  // namespace
}  // namespace quire::kernels
