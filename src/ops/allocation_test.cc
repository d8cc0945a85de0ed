// A warm step allocates nothing: the global allocator counts.
#include <gtest/gtest.h>

#include "base/count_allocations.h"
#include "ops/attention.h"
#include "ops/elementwise.h"
#include "ops/gated_mlp.h"
#include "ops/linear.h"
#include "ops/testing.h"

namespace quire::ops {
namespace {

TEST(Operators, AllocateNothingOnceTheyAreWarm) {
  TestContext test(2);
  constexpr std::int64_t kRows = 40, kDim = 64;
  const auto bytes = kernels::RandomBlocks(DType::kQ4_1, kDim * kDim / 32, 1);
  const ConstTensorView source = {bytes.data(), DType::kQ4_1, {kDim, kDim}};
  const LinearWeight fast = *LinearWeight::Create(test.ctx, source, MatmulPrecision::kFast);
  const LinearWeight exact = *LinearWeight::Create(test.ctx, source, MatmulPrecision::kFloat32);
  const auto weight = kernels::RandomFloats(kDim, 2);
  auto x = kernels::RandomFloats(kRows * kDim, 3);
  std::vector<float> a(x.size()), b(x.size());
  const Shape page_shape = {4, 1, 16, kDim};
  Buffer k = *Buffer::Allocate(*BytesOf(DType::kF16, page_shape.num_values()));
  Buffer v = *Buffer::Allocate(*BytesOf(DType::kF16, page_shape.num_values()));
  const KvPages pages = {{k.data(), DType::kF16, page_shape}, {v.data(), DType::kF16, page_shape}};
  std::vector<std::int32_t> slots, q_start = {0, kRows}, lens = {kRows}, table = {1, 2, 3};
  for (std::int32_t i = 0; i < kRows; ++i) slots.push_back(16 + i);
  const AttentionBatch batch = {q_start, lens, table, 3, slots};
  const TensorView rows = F32View(x.data(), {kRows, kDim});
  const TensorView heads = F32View(x.data(), {kRows, 1, kDim});
  const LinearJob jobs[] = {{&fast, F32View(a.data(), {kRows, kDim})},
                            {&exact, F32View(b.data(), {kRows, kDim})}};
  const auto step = [&] {
    RmsNorm(test.ctx, rows, F32View(weight.data(), {kDim}), 1e-5F, rows);
    Linear(test.ctx, rows, jobs);
    WriteKv(test.ctx, F32View(a.data(), {kRows, 1, kDim}), F32View(b.data(), {kRows, 1, kDim}),
            slots, pages);
    PagedAttention(test.ctx, heads, pages, batch, {.scale = 0.1F},
                   F32View(a.data(), {kRows, 1, kDim}));
    Linear(test.ctx, rows, {jobs, 1});
    GatedMlp(test.ctx, rows, {jobs[0], jobs[0], Activation::kSilu, jobs[0]});
    GatedActivation(test.ctx, Activation::kSilu, F32View(a.data(), {kRows, kDim}),
                    F32View(b.data(), {kRows, kDim}), F32View(b.data(), {kRows, kDim}));
  };
  step();
  const std::int64_t before = NumAllocations();
  for (int i = 0; i < 5; ++i) step();
  EXPECT_EQ(NumAllocations(), before);
}

}  // namespace
}  // namespace quire::ops
