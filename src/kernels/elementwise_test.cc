#include <cmath>

#include "kernels/activation.h"
#include "kernels/norm.h"
#include "kernels/rope.h"
#include "kernels/softmax.h"
#include "kernels/testing.h"

namespace quire::kernels {
namespace {

constexpr std::int64_t kLongest = 67;  // over four registers of the widest ISA
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Values that start off any alignment, some of them not finite when asked for.
std::vector<float> Values(std::int64_t count, bool is_wild) {
  auto values = RandomFloats(count + 1, static_cast<std::uint64_t>(count), 90.0F);
  if (is_wild) {
    const float wild[] = {kNan, kInfinity, -kInfinity, 0.0F, -0.0F, 1e-41F, -100.0F, 100.0F};
    for (std::size_t i = 0; i < values.size(); i += 5) values[i] = wild[i / 5 % 8];
  }
  return values;
}

TEST(RmsNormKernel, HasTheBitsOfPortable) {
  for (std::int64_t dim = 1; dim <= kLongest; ++dim) {
    for (const bool is_wild : {false, true}) {
      const std::int64_t stride = dim + 3;
      const auto x = Values(3 * stride, is_wild);
      const auto weight = Values(dim, false);
      std::vector<float> outs[2];
      const CpuTable* tables[2] = {&TableUnderTest(), &PortableTable()};
      for (int t = 0; t < 2; ++t) {
        outs[t].resize(x.size());
        tables[t]->rms_norm({.x = x.data() + 1,
                             .weight = weight.data() + 1,
                             .out = outs[t].data(),
                             .rows = 3,
                             .dim = dim,
                             .x_stride = stride,
                             .out_stride = stride,
                             .eps = 1e-5F});
      }
      EXPECT_TRUE(SameBits(outs[0], outs[1])) << dim;
    }
  }
}

TEST(LayerNormKernel, HasTheBitsOfPortable) {
  for (std::int64_t dim = 1; dim <= kLongest; ++dim) {
    for (const bool has_bias : {false, true}) {
      const auto x = Values(2 * dim, dim % 3 == 0);
      const auto weight = Values(dim, false);
      std::vector<float> outs[2];
      const CpuTable* tables[2] = {&TableUnderTest(), &PortableTable()};
      for (int t = 0; t < 2; ++t) {
        outs[t].resize(static_cast<std::size_t>(2 * dim));
        tables[t]->layer_norm({.x = x.data() + 1,
                               .weight = weight.data() + 1,
                               .bias = has_bias ? weight.data() : nullptr,
                               .out = outs[t].data(),
                               .rows = 2,
                               .dim = dim,
                               .x_stride = dim,
                               .out_stride = dim,
                               .eps = 1e-5F});
      }
      EXPECT_TRUE(SameBits(outs[0], outs[1])) << dim;
    }
  }
}

TEST(ActivationKernels, HaveTheBitsOfPortable) {
  for (int kind = 0; kind < kNumActivationKinds; ++kind) {
    for (std::int64_t n = 0; n <= kLongest; ++n) {
      for (const bool is_wild : {false, true}) {
        const auto x = Values(n, is_wild);
        const auto up = Values(n + 1, false);
        for (const float* other : {static_cast<const float*>(nullptr), up.data() + 1}) {
          std::vector<float> got(static_cast<std::size_t>(n) + 1, 7.0F);
          auto want = got;
          TableUnderTest().activation[kind](x.data() + 1, other, got.data(), n);
          PortableTable().activation[kind](x.data() + 1, other, want.data(), n);
          EXPECT_TRUE(SameBits(got, want)) << kind << " " << n;
        }
      }
    }
  }
}

TEST(AddAndScaleKernels, HaveTheBitsOfPortable) {
  for (std::int64_t n = 0; n <= kLongest; ++n) {
    const auto a = Values(n, true);
    const auto b = Values(n + 1, false);
    std::vector<float> got(static_cast<std::size_t>(n) + 1, 7.0F);
    auto want = got;
    TableUnderTest().add(a.data() + 1, b.data() + 1, got.data(), n);
    PortableTable().add(a.data() + 1, b.data() + 1, want.data(), n);
    EXPECT_TRUE(SameBits(got, want)) << n;
    TableUnderTest().scale(a.data() + 1, -1.7F, got.data(), n);
    PortableTable().scale(a.data() + 1, -1.7F, want.data(), n);
    EXPECT_TRUE(SameBits(got, want)) << n;
  }
}

TEST(RopeKernel, HasTheBitsOfPortable) {
  for (std::int64_t rotary = 2; rotary <= kLongest; rotary += 2) {
    for (const bool is_interleaved : {false, true}) {
      const auto cos_sin = RandomFloats(4 * rotary, 3);
      const std::vector<std::int32_t> positions = {3, 1};
      const std::int64_t head_dim = rotary + 5;
      auto got = RandomFloats(2 * 3 * head_dim, 4);
      auto want = got;
      for (const auto& [table, x] :
           {std::pair{&TableUnderTest(), &got}, std::pair{&PortableTable(), &want}}) {
        table->rope({.x = x->data(),
                     .rows = 2,
                     .heads = 3,
                     .head_dim = head_dim,
                     .positions = positions.data(),
                     .cos_sin = cos_sin.data(),
                     .rotary_dim = rotary,
                     .is_interleaved = is_interleaved});
      }
      EXPECT_TRUE(SameBits(got, want)) << rotary << " " << is_interleaved;
    }
  }
}

TEST(ArgMaxKernel, ChoosesAsPortable) {
  for (std::int64_t n = 1; n <= kLongest; ++n) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      auto row = RandomFloats(n, seed);
      for (float& value : row) value = std::round(value * 3.0F);  // many equals
      if (seed >= 2) row[static_cast<std::size_t>(n) / 2] = kNan;
      if (seed == 3) row[0] = kNan;
      if (seed == 4) row.assign(row.size(), kNan);
      if (seed == 5) row.assign(row.size(), -kInfinity);
      EXPECT_EQ(TableUnderTest().arg_max(row.data(), n), PortableTable().arg_max(row.data(), n))
          << n << " " << seed;
    }
  }
}

TEST(SumExpKernel, HasTheBitsOfPortable) {
  for (std::int64_t n = 0; n <= kLongest; ++n) {
    for (const bool is_wild : {false, true}) {
      const auto row = Values(n, is_wild);
      std::vector<float> got(static_cast<std::size_t>(n) + 1, 7.0F);
      auto want = got;
      const float a = TableUnderTest().sum_exp(row.data() + 1, 80.0F, got.data(), n);
      const float b = PortableTable().sum_exp(row.data() + 1, 80.0F, want.data(), n);
      EXPECT_TRUE(SameBits(a, b)) << n;
      EXPECT_TRUE(SameBits(got, want)) << n;
      EXPECT_TRUE(SameBits(TableUnderTest().sum_exp(row.data() + 1, 80.0F, nullptr, n), a));
    }
  }
}

// Exp shows through SumExp of one value.
TEST(Exp, IsWithinTwoUlpOfTheTrueValue) {
  for (float x = -87.3F; x < 88.3F; x += 0.0137F) {
    const float got = TableUnderTest().sum_exp(&x, 0.0F, nullptr, 1);
    const double want = std::exp(double{x});
    EXPECT_NEAR(got / want, 1.0, 2.4e-7) << x;
  }
}

}  // namespace
}  // namespace quire::kernels
