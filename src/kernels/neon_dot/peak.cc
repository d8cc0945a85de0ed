// As neon/peak.cc, for `sdot`.
#include <arm_neon.h>

#include "kernels/fill.h"
#include "kernels/table.h"

namespace quire::kernels {
namespace {

constexpr int kAccumulators = 16;

void RunInt8(std::int64_t rounds) {
  int32x4_t sums[kAccumulators] = {};
  const int8x16_t a = vdupq_n_s8(1), b = a;
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 16
    for (int32x4_t& sum : sums) {
      sum = vdotq_s32(sum, a, b);
      asm volatile("" : "+w"(sum));
    }
  }
}

}  // namespace

void FillNeonDotPeak(CpuTable& table) {
  constexpr std::int64_t kProducts = 16;
  table.peak[static_cast<int>(PeakKind::kInt8)] = {RunInt8, kAccumulators * kProducts * 2};
}

}  // namespace quire::kernels
