// Enough accumulators for four units of a latency of four.
#include <arm_neon.h>

#include "kernels/fill.h"
#include "kernels/table.h"
#include "kernels/wide/peak_body.h"

namespace quire::kernels {
namespace {

constexpr int kAccumulators = 16;

void RunF32(std::int64_t rounds) {
  const float32x4_t a = vdupq_n_f32(1.0F), b = a;
  RunAccumulators<kAccumulators, float32x4_t>(
      rounds, [&](float32x4_t sum) QUIRE_INLINE_LAMBDA { return vfmaq_f32(sum, a, b); });
}

}  // namespace

void FillNeonPeak(CpuTable& table) {
  constexpr std::int64_t kFloats = 4;
  table.peak[static_cast<int>(PeakKind::kF32)] = {RunF32, kAccumulators * kFloats * 2};
}

}  // namespace quire::kernels
