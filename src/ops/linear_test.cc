#include "ops/linear.h"

#include <cmath>

#include <gtest/gtest.h>

#include "ops/elementwise.h"
#include "ops/testing.h"

namespace quire::ops {
namespace {

using kernels::RandomFloats;
using kernels::SameBits;

// A random matrix [outputs, depth] and its values as f32.
struct Matrix {
  Matrix(TestContext& test, DType type, std::int64_t outputs, std::int64_t depth)
      : dtype(type), shape({outputs, depth}) {
    const std::int64_t values = outputs * depth;
    bytes = RandomWeights(type, values, 5);
    expanded.resize(static_cast<std::size_t>(values));
    Dequantize(test.ctx, view(), expanded.data());
  }
  ConstTensorView view() const { return {bytes.data(), dtype, shape}; }

  DType dtype;
  Shape shape;
  std::vector<std::byte> bytes;
  std::vector<float> expanded;
};

std::vector<float> Multiply(TestContext& test, const LinearWeight& weight,
                            const std::vector<float>& x, std::int64_t rows) {
  std::vector<float> out(static_cast<std::size_t>(rows * weight.out_features()));
  const LinearJob job = {&weight, F32View(out.data(), {rows, weight.out_features()})};
  Linear(test.ctx, F32View(x.data(), {rows, weight.in_features()}), {&job, 1});
  return out;
}

// Largest error relative to the sum of magnitudes, against a product in double precision.
double ErrorOf(const Matrix& matrix, const std::vector<float>& x, const std::vector<float>& out) {
  const std::int64_t outputs = matrix.shape[0];
  const std::int64_t depth = matrix.shape[1];
  double worst = 0.0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t r = static_cast<std::int64_t>(i) / outputs;
    const std::int64_t o = static_cast<std::int64_t>(i) % outputs;
    double sum = 0.0;
    double size = 1e-30;
    for (std::int64_t k = 0; k < depth; ++k) {
      const double term = double{x[static_cast<std::size_t>(r * depth + k)]} *
                          matrix.expanded[static_cast<std::size_t>(o * depth + k)];
      sum += term;
      size += std::fabs(term);
    }
    worst = std::max(worst, std::fabs(out[i] - sum) / size);
  }
  return worst;
}

constexpr double kFloatBound = 1e-6;
// Half a step of 1/127 of a block's largest value, against the sum of magnitudes.
constexpr double kInt8Bound = 0.02;

TEST(Linear, IsThePlainProductWithinTheBoundOfItsPrecision) {
  TestContext test(2);
  for (const DType type : WeightTypes()) {
    const Matrix matrix(test, type, 21, 512);
    const auto x = RandomFloats(3 * 512, 1);
    for (const auto precision : {MatmulPrecision::kFast, MatmulPrecision::kFloat32}) {
      const auto weight = LinearWeight::Create(test.ctx, matrix.view(), precision);
      ASSERT_TRUE(weight.ok()) << weight.status().message();
      const double error = ErrorOf(matrix, x, Multiply(test, *weight, x, 3));
      const bool is_exact = precision == MatmulPrecision::kFloat32;
      EXPECT_LT(error, is_exact ? kFloatBound : kInt8Bound) << ToString(type);
    }
  }
}

TEST(Linear, GivesARowTheSameBitsAmongAnyNumberOfRowsAndThreads) {
  constexpr std::int64_t kMaxRows = 130;
  TestContext one(1);
  TestContext three(3);
  for (const DType type : WeightTypes()) {
    const Matrix matrix(one, type, 37, 512);
    const auto x = RandomFloats(kMaxRows * 512, 2);
    for (const auto precision : {MatmulPrecision::kFast, MatmulPrecision::kFloat32}) {
      const auto weight = LinearWeight::Create(one.ctx, matrix.view(), precision);
      const auto all = Multiply(three, *weight, x, kMaxRows);
      for (const std::int64_t rows : {1, 2, 3, 4, 5, 8, 13, 31, 33, 64, 65, 100}) {
        const std::int64_t first = kMaxRows - rows;
        const std::vector<float> part(x.begin() + first * 512, x.end());
        const std::vector<float> want(all.begin() + first * 37, all.end());
        EXPECT_TRUE(SameBits(Multiply(one, *weight, part, rows), want))
            << ToString(type) << " " << rows;
      }
    }
  }
}

TEST(Linear, AddsBiasAndAccumulates) {
  TestContext test;
  const Matrix matrix(test, DType::kQ8_0, 5, 64);
  const auto weight = LinearWeight::Create(test.ctx, matrix.view(), MatmulPrecision::kFast);
  const auto x = RandomFloats(2 * 64, 4);
  const auto bias = RandomFloats(5, 6);
  const auto plain = Multiply(test, *weight, x, 2);
  std::vector<float> out(10, 100.0F);
  const LinearJob job = {&*weight, F32View(out.data(), {2, 5}), F32View(bias.data(), {5}), true};
  Linear(test.ctx, F32View(x.data(), {2, 64}), {&job, 1});
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(out[i], 100.0F + (plain[i] + bias[i % 5]));
  }
}

TEST(Linear, RunsJobsOfDifferentTypesAndSizesTogether) {
  TestContext test(2);
  const Matrix a(test, DType::kQ4_1, 48, 96);
  const Matrix b(test, DType::kF16, 7, 96);
  const Matrix c(test, DType::kQ8_0, 130, 96);
  const auto x = RandomFloats(9 * 96, 8);
  std::vector<LinearWeight> weights;
  std::vector<std::vector<float>> outs;
  std::vector<LinearJob> jobs;
  for (const Matrix* matrix : {&a, &b, &c}) {
    weights.push_back(*LinearWeight::Create(test.ctx, matrix->view(), MatmulPrecision::kFast));
    outs.emplace_back(static_cast<std::size_t>(9 * matrix->shape[0]));
  }
  for (std::size_t i = 0; i < 3; ++i) {
    jobs.push_back({&weights[i], F32View(outs[i].data(), {9, weights[i].out_features()})});
  }
  Linear(test.ctx, F32View(x.data(), {9, 96}), jobs);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(SameBits(outs[i], Multiply(test, weights[i], x, 9)));
  }
}

TEST(Linear, NormsItsInputToTheBitsOfRmsNorm) {
  constexpr std::int64_t kDepth = 512, kOutputs = 48, kMaxRows = 130;
  constexpr float kEps = 1e-5F;
  TestContext three(3);
  const auto x = RandomFloats(kMaxRows * kDepth, 11);
  const auto norm_weight = RandomFloats(kDepth, 12);
  for (const DType type : WeightTypes()) {
    const Matrix matrix(three, type, kOutputs, kDepth);
    const auto weight = LinearWeight::Create(three.ctx, matrix.view(), MatmulPrecision::kFast);
    for (const std::int64_t rows : {1, 7, 40, 64, 65, 130}) {
      const ConstTensorView input = F32View(x.data(), {rows, kDepth});
      const ConstTensorView norm = F32View(norm_weight.data(), {kDepth});
      std::vector<float> normed(static_cast<std::size_t>(rows * kDepth));
      RmsNorm(three.ctx, input, norm, kEps, F32View(normed.data(), {rows, kDepth}));
      const auto want = Multiply(three, *weight, normed, rows);

      std::vector<float> memory(normed.size()), out(want.size());
      const LinearJob job = {&*weight, F32View(out.data(), {rows, kOutputs})};
      Linear(three.ctx, input, {&job, 1}, {norm, kEps, F32View(memory.data(), {rows, kDepth})});
      EXPECT_TRUE(SameBits(out, want)) << ToString(type) << " " << rows;
    }
  }
}

TEST(Linear, KeepsNanAndInfinityInTheirOwnRow) {
  TestContext test;
  for (const DType type : WeightTypes()) {
    const Matrix matrix(test, type, 16, 256);
    const auto weight = LinearWeight::Create(test.ctx, matrix.view(), MatmulPrecision::kFast);
    auto x = RandomFloats(3 * 256, 3);
    const auto clean = Multiply(test, *weight, x, 3);
    x[256 + 5] = std::numeric_limits<float>::quiet_NaN();
    x[512 + 9] = std::numeric_limits<float>::infinity();
    const auto out = Multiply(test, *weight, x, 3);
    for (std::size_t o = 0; o < 16; ++o) {
      EXPECT_EQ(out[o], clean[o]) << ToString(type);
      EXPECT_TRUE(std::isnan(out[16 + o])) << ToString(type);
      EXPECT_FALSE(std::isfinite(out[32 + o])) << ToString(type);
    }
  }
}

TEST(LinearWeight, KeepsAViewOfPlainTypesAndCountsItsBytes) {
  TestContext test;
  const Matrix matrix(test, DType::kBF16, 6, 40);
  const auto weight = LinearWeight::Create(test.ctx, matrix.view(), MatmulPrecision::kFast);
  EXPECT_FALSE(weight->owns_copy());
  EXPECT_EQ(weight->num_bytes(), 6U * 40U * 2U);
  EXPECT_EQ(weight->dtype(), DType::kBF16);
}

TEST(LinearWeight, RefusesTypesAndShapesThatItCannotMultiply) {
  TestContext test;
  const std::vector<std::byte> bytes(1024);
  const auto code = [&](DType type, const Shape& shape) {
    return LinearWeight::Create(test.ctx, {bytes.data(), type, shape}, MatmulPrecision::kFast)
        .status()
        .code();
  };
  EXPECT_EQ(code(DType::kI64, {2, 2}), Code::kUnimplemented);
  EXPECT_EQ(code(DType::kQ4_0, {2, 33}), Code::kDataLoss);
  EXPECT_EQ(code(DType::kF32, {4}), Code::kDataLoss);
}

TEST(Embed, GivesTheDequantizedRowsOfItsIds) {
  TestContext test;
  for (const DType type : WeightTypes()) {
    const Matrix matrix(test, type, 9, 256);
    const std::vector<std::int32_t> ids = {8, 0, 3, 3};
    std::vector<float> out(4 * 256);
    Embed(test.ctx, matrix.view(), ids, F32View(out.data(), {4, 256}));
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t k = 0; k < 256; ++k) {
        ASSERT_EQ(out[i * 256 + k], matrix.expanded[static_cast<std::size_t>(ids[i]) * 256 + k]);
      }
    }
  }
}

}  // namespace
}  // namespace quire::ops
