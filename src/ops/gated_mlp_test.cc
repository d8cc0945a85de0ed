#include "ops/gated_mlp.h"

#include <gtest/gtest.h>

#include "ops/testing.h"

namespace quire::ops {
namespace {

using kernels::RandomBlocks;
using kernels::RandomFloats;
using kernels::SameBits;

constexpr std::int64_t kHidden = 256, kInner = 512;

struct Weights {
  Weights(TestContext& test, DType type)
      : gate_bytes(RandomBlocks(type, kInner * kHidden / LayoutOf(type).block_values, 1)),
        up_bytes(RandomBlocks(type, kInner * kHidden / LayoutOf(type).block_values, 2)),
        down_bytes(RandomBlocks(type, kHidden * kInner / LayoutOf(type).block_values, 3)),
        gate(Make(test, gate_bytes.data(), type, kInner, kHidden)),
        up(Make(test, up_bytes.data(), type, kInner, kHidden)),
        down(Make(test, down_bytes.data(), type, kHidden, kInner)),
        bias(RandomFloats(kInner, 4)),
        norm(RandomFloats(kHidden, 6)) {}

  static LinearWeight Make(TestContext& test, const std::byte* bytes, DType type,
                           std::int64_t outputs, std::int64_t depth) {
    return *LinearWeight::Create(test.ctx, {bytes, type, {outputs, depth}}, MatmulPrecision::kFast);
  }

  std::vector<std::byte> gate_bytes, up_bytes,
      down_bytes;  // read in place where nothing packs them
  LinearWeight gate, up, down;
  std::vector<float> bias;
  std::vector<float> norm;
};

// x with the block of the normed x added; `fused`: by GatedMlp, else by the operators it stands
// for.
std::vector<float> RunBlock(TestContext& test, const Weights& weights, std::vector<float> x,
                            bool fused) {
  const auto rows = static_cast<std::int64_t>(x.size()) / kHidden;
  std::vector<float> gate(static_cast<std::size_t>(rows * kInner)), up(gate.size());
  const TensorView in_out = F32View(x.data(), {rows, kHidden});
  std::vector<float> normed(x.size());
  const InputNorm norm = {F32View(weights.norm.data(), {kHidden}), 1e-5F,
                          F32View(normed.data(), {rows, kHidden})};
  const GatedMlpJobs jobs = {.gate = {&weights.gate, F32View(gate.data(), {rows, kInner}),
                                      F32View(weights.bias.data(), {kInner})},
                             .up = {&weights.up, F32View(up.data(), {rows, kInner})},
                             .activation = Activation::kSilu,
                             .down = {&weights.down, in_out, {}, /*accumulate=*/true}};
  if (fused) {
    GatedMlp(test.ctx, in_out, jobs, norm);
    return x;
  }
  RmsNorm(test.ctx, in_out, norm.weight, norm.eps, norm.normed);
  const LinearJob inner[] = {jobs.gate, jobs.up};
  Linear(test.ctx, norm.normed, inner);
  GatedActivation(test.ctx, Activation::kSilu, jobs.gate.out, jobs.up.out, jobs.gate.out);
  Linear(test.ctx, jobs.gate.out, {&jobs.down, 1});
  return x;
}

TEST(GatedMlp, HasTheBitsOfItsPartsForAnyNumberOfRowsAndThreads) {
  TestContext one(1);
  TestContext three(3);
  for (const DType type : {DType::kQ4_1, DType::kQ8_0, DType::kQ6_K, DType::kBF16}) {
    const Weights weights(one, type);
    for (const std::int64_t rows : {1, 8, 17, 48, 130}) {
      const auto x = RandomFloats(rows * kHidden, 5);
      const auto expected = RunBlock(one, weights, x, /*fused=*/false);
      EXPECT_TRUE(SameBits(RunBlock(one, weights, x, /*fused=*/true), expected)) << rows;
      EXPECT_TRUE(SameBits(RunBlock(three, weights, x, /*fused=*/true), expected)) << rows;
    }
  }
}

}  // namespace
}  // namespace quire::ops
