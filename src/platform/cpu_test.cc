#include "platform/cpu.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace quire {
namespace {

TEST(UsableCores, AreOnePerPhysicalCoreInOrder) {
  const std::vector<int> cores = UsableCores();
  ASSERT_FALSE(cores.empty());
  EXPECT_TRUE(std::is_sorted(cores.begin(), cores.end()));
  EXPECT_EQ(std::adjacent_find(cores.begin(), cores.end()), cores.end());
}

TEST(CpuFeatures, Avx512ImpliesAvx2) {
  const CpuFeatures features = DetectCpuFeatures();
  EXPECT_TRUE(features.avx2 || !features.avx512);
  EXPECT_TRUE(features.avx512 || !features.avx512_bf16);
}

}  // namespace
}  // namespace quire
