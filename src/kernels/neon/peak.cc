// As avx2/peak.cc, with enough accumulators for four units of a latency of four.
#include <arm_neon.h>

#include "kernels/fill.h"
#include "kernels/table.h"

namespace quire::kernels {
namespace {

constexpr int kAccumulators = 16;

void RunF32(std::int64_t rounds) {
  float32x4_t sums[kAccumulators] = {}, a = vdupq_n_f32(1.0F), b = a;
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 16
    for (float32x4_t& sum : sums) {
      sum = vfmaq_f32(sum, a, b);
      asm volatile("" : "+w"(sum));
    }
  }
}

}  // namespace

void FillNeonPeak(CpuTable& table) {
  constexpr std::int64_t kLanes = 4;
  table.peak[static_cast<int>(PeakKind::kF32)] = {RunF32, kAccumulators * kLanes * 2};
}

}  // namespace quire::kernels
