#include "kernels/quant.h"

#include <cmath>

#include "kernels/testing.h"

namespace quire::kernels {
namespace {

std::vector<float> AsFloats(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// One rounding more where a type multiplies two scales.
constexpr float kRelative = 1e-6F;

TEST(Dequantize, GivesTheValuesOfTheReferenceForEveryType) {
  const auto data = ReferenceData();
  if (!data) GTEST_SKIP() << "no reference data: set QUIRE_TEST_DATA";
  int num_types = 0;
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto type = static_cast<DType>(i);
    const DequantizeFn dequantize = TableUnderTest().dequantize[i];
    const auto path = *data / "quants" / StrCat(ToString(type), ".safetensors");
    if (dequantize == nullptr || !std::filesystem::exists(path)) continue;
    auto tensors = ReadTensors(path);
    const std::vector<float> want = AsFloats(tensors["dequantized"]);
    std::vector<float> got(want.size());
    const std::string blocks_name = tensors.count("blocks") != 0 ? "blocks" : "quantized";
    dequantize(tensors[blocks_name].data(), static_cast<std::int64_t>(got.size()), got.data());
    std::int64_t num_inexact = 0;
    for (std::size_t k = 0; k < got.size(); ++k) {
      num_inexact += got[k] != want[k] && !SameBits(got[k], want[k]);
      ASSERT_TRUE(SameBits(got[k], want[k]) ||
                  std::fabs(got[k] - want[k]) <= kRelative * std::fabs(want[k]))
          << ToString(type) << " value " << k << ": " << got[k] << ", want " << want[k];
    }
    EXPECT_EQ(num_inexact, 0) << ToString(type);
    ++num_types;
  }
  EXPECT_GE(num_types, 17);
}

TEST(Dequantize, IsTheSameAsPortable) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto type = static_cast<DType>(i);
    if (TableUnderTest().dequantize[i] == nullptr) continue;
    for (std::int64_t blocks = 1; blocks <= 9; ++blocks) {
      const auto bytes = RandomBlocks(type, blocks, 3);
      const std::int64_t values = blocks * LayoutOf(type).block_values;
      std::vector<float> got(static_cast<std::size_t>(values));
      std::vector<float> want(static_cast<std::size_t>(values));
      TableUnderTest().dequantize[i](bytes.data(), values, got.data());
      PortableTable().dequantize[i](bytes.data(), values, want.data());
      EXPECT_TRUE(SameBits(got, want)) << ToString(type) << " " << blocks;
    }
  }
}

}  // namespace
}  // namespace quire::kernels
