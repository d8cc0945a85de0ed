#include "ops/grouped_linear.h"

#include <algorithm>
#include <deque>

#include <gtest/gtest.h>

#include "base/count_allocations.h"
#include "ops/testing.h"

namespace quire::ops {
namespace {

using kernels::RandomFloats;
using kernels::SameBits;

// Experts of one shape with random weights, and their bytes.
class Experts {
 public:
  Experts(TestContext& test, const std::vector<DType>& types, std::int64_t outputs,
          std::int64_t depth, MatmulPrecision precision)
      : outputs_(outputs), depth_(depth) {
    for (const DType type : types) {
      bytes_.push_back(RandomWeights(type, outputs * depth, bytes_.size() + 1));
      weights_.push_back(*LinearWeight::Create(
          test.ctx, {bytes_.back().data(), type, {outputs, depth}}, precision));
      pointers_.push_back(&weights_.back());
    }
  }
  std::vector<const LinearWeight*>& pointers() { return pointers_; }
  std::int64_t outputs() const { return outputs_; }
  std::int64_t depth() const { return depth_; }

 private:
  std::int64_t outputs_, depth_;
  std::deque<std::vector<std::byte>> bytes_;
  std::deque<LinearWeight> weights_;
  std::vector<const LinearWeight*> pointers_;
};

std::vector<std::int32_t> StartsOf(const std::vector<std::int32_t>& sizes) {
  std::vector<std::int32_t> starts = {0};
  for (const std::int32_t size : sizes) starts.push_back(starts.back() + size);
  return starts;
}

std::vector<float> MultiplyGrouped(TestContext& test, Experts& experts, const std::vector<float>& x,
                                   const std::vector<std::int32_t>& starts) {
  const std::int64_t rows = starts.back();
  std::vector<float> out(static_cast<std::size_t>(rows * experts.outputs()), -7.0F);
  const GroupedJob job = {experts.pointers(), F32View(out.data(), {rows, experts.outputs()})};
  GroupedLinear(test.ctx, F32View(x.data(), {rows, experts.depth()}), starts, {&job, 1});
  return out;
}

// Row `row` alone with the weight of its group.
std::vector<float> MultiplyRow(TestContext& test, const LinearWeight& weight,
                               const std::vector<float>& x, std::int64_t row) {
  std::vector<float> out(static_cast<std::size_t>(weight.out_features()));
  const LinearJob job = {&weight, F32View(out.data(), {1, weight.out_features()})};
  const std::int64_t depth = weight.in_features();
  Linear(test.ctx, F32View(x.data() + row * depth, {1, depth}), {&job, 1});
  return out;
}

// Whether every row has the bits that its expert alone gives it.
void ExpectRowsOfTheirExperts(TestContext& test, Experts& experts,
                              const std::vector<std::int32_t>& sizes, const std::string& what) {
  const std::vector<std::int32_t> starts = StartsOf(sizes);
  const auto x = RandomFloats(starts.back() * experts.depth(), 3);
  const auto out = MultiplyGrouped(test, experts, x, starts);
  for (std::size_t g = 0; g < sizes.size(); ++g) {
    for (std::int64_t row = starts[g]; row < starts[g + 1]; ++row) {
      const auto first = out.begin() + row * experts.outputs();
      EXPECT_TRUE(SameBits(MultiplyRow(test, *experts.pointers()[g], x, row),
                           std::vector<float>(first, first + experts.outputs())))
          << what << ", group " << g << ", row " << row;
    }
  }
}

TEST(GroupedLinear, GivesEachRowTheBitsThatItsExpertAloneGivesIt) {
  TestContext test(3);
  const std::vector<std::vector<std::int32_t>> groupings = {
      {0, 0, 5, 0}, {1, 0, 70, 2}, {1, 1, 1, 1}, {0, 0, 0, 66}, {13, 0, 0, 0}};
  for (const DType type : WeightTypes()) {
    for (const auto precision : {MatmulPrecision::kFast, MatmulPrecision::kFloat32}) {
      Experts experts(test, {type, type, type, type}, 37, 256, precision);
      for (const auto& sizes : groupings) {
        ExpectRowsOfTheirExperts(test, experts, sizes, std::string(ToString(type)));
      }
    }
  }
}

TEST(GroupedLinear, TakesRandomShapesAndGroupings) {
  TestContext test(2);
  const std::vector<DType> types = {DType::kQ4_1, DType::kQ8_0, DType::kQ4_0, DType::kBF16,
                                    DType::kF32};
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const auto draw = [&](std::uint64_t index, std::int32_t below) {
      return static_cast<std::int32_t>(UniformDraw(seed, 0, index) * below);
    };
    std::vector<DType> mixed;
    std::vector<std::int32_t> sizes;
    const std::int32_t num_groups = 1 + draw(0, 9);
    for (std::int32_t g = 0; g < num_groups; ++g) {
      mixed.push_back(types[static_cast<std::size_t>(draw(10 + g, 5))]);
      sizes.push_back(draw(30 + g, 3) == 0 ? 0 : draw(50 + g, draw(70 + g, 4) == 0 ? 150 : 6));
    }
    Experts experts(test, mixed, 1 + draw(1, 200), 32 * (1 + draw(2, 20)), MatmulPrecision::kFast);
    ExpectRowsOfTheirExperts(test, experts, sizes, "seed " + std::to_string(seed));
  }
}

TEST(GroupedLinear, TakesManyExpertsMostOfThemWithoutRows) {
  TestContext test(2);
  std::vector<std::int32_t> sizes(128, 0);
  for (std::size_t g = 3; g < sizes.size(); g += 17) sizes[g] = 1;
  Experts experts(test, std::vector<DType>(sizes.size(), DType::kQ4_0), 48, 64,
                  MatmulPrecision::kFast);
  ExpectRowsOfTheirExperts(test, experts, sizes, "many");
}

TEST(GroupedLinear, LeavesTheRowsOfAGroupWithoutWeightAsTheyAre) {
  TestContext test(2);
  Experts experts(test, std::vector<DType>(3, DType::kQ8_0), 20, 64, MatmulPrecision::kFast);
  const auto x = RandomFloats(6 * 64, 1);
  const std::vector<std::int32_t> starts = StartsOf({2, 3, 1});
  const auto all = MultiplyGrouped(test, experts, x, starts);
  experts.pointers()[1] = nullptr;
  const auto some = MultiplyGrouped(test, experts, x, starts);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_without = i / 20 >= 2 && i / 20 < 5;
    EXPECT_EQ(some[i], is_without ? -7.0F : all[i]) << i;
  }
}

TEST(GroupedLinear, AddsEachGroupsBiasAndAccumulates) {
  TestContext test(2);
  Experts experts(test, {DType::kQ4_1, DType::kF16}, 5, 64, MatmulPrecision::kFast);
  const auto x = RandomFloats(3 * 64, 4);
  const auto bias = RandomFloats(2 * 5, 6);
  const std::vector<std::int32_t> starts = StartsOf({1, 2});
  const auto plain = MultiplyGrouped(test, experts, x, starts);
  std::vector<float> out(15, 100.0F);
  const GroupedJob job = {experts.pointers(), F32View(out.data(), {3, 5}),
                          F32View(bias.data(), {2, 5}), true};
  GroupedLinear(test.ctx, F32View(x.data(), {3, 64}), starts, {&job, 1});
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(out[i], 100.0F + (plain[i] + bias[i < 5 ? i : 5 + i % 5])) << i;
  }
}

TEST(GroupedLinear, RunsSeveralJobsOverOneInput) {
  TestContext test(3);
  Experts up(test, std::vector<DType>(4, DType::kQ6_K), 33, 256, MatmulPrecision::kFast);
  Experts wide(test, std::vector<DType>(4, DType::kQ4_0), 96, 256, MatmulPrecision::kFast);
  const std::vector<std::int32_t> starts = StartsOf({2, 0, 9, 1});
  const auto x = RandomFloats(12 * 256, 4);
  std::vector<float> a(12 * 33), b(12 * 96);
  const GroupedJob jobs[] = {{up.pointers(), F32View(a.data(), {12, 33})},
                             {wide.pointers(), F32View(b.data(), {12, 96})}};
  GroupedLinear(test.ctx, F32View(x.data(), {12, 256}), starts, jobs);
  EXPECT_TRUE(SameBits(a, MultiplyGrouped(test, up, x, starts)));
  EXPECT_TRUE(SameBits(b, MultiplyGrouped(test, wide, x, starts)));
}

TEST(GroupedLinear, AllocatesNothingOnceItIsWarm) {
  TestContext test(2);
  Experts experts(test, {DType::kQ4_1, DType::kQ4_1, DType::kTQ1_0}, 32, 256,
                  MatmulPrecision::kFast);
  const auto x = RandomFloats(80 * 256, 4);
  std::vector<float> out(80 * 32);
  const GroupedJob job = {experts.pointers(), F32View(out.data(), {80, 32})};
  const auto step = [&](const std::vector<std::int32_t>& starts) {
    GroupedLinear(test.ctx, F32View(x.data(), {80, 256}), starts, {&job, 1});
  };
  const std::vector<std::int32_t> even = {0, 30, 60, 80}, one = {0, 0, 80, 80};
  step(even);
  step(one);
  const std::int64_t before = NumAllocations();
  step(one);
  step(even);
  EXPECT_EQ(NumAllocations(), before);
}

}  // namespace
}  // namespace quire::ops
