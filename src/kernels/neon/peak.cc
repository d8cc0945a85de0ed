// Multiply-adds of f32 that depend on nothing but their own accumulator.
#include "kernels/fill.h"
#include "kernels/neon/peak_body.h"
#include "kernels/table.h"

namespace quire::kernels {
namespace {

void RunF32(std::int64_t rounds) {
  const float32x4_t a = vdupq_n_f32(1.0F), b = a;
  RunAccumulators<float32x4_t>(
      rounds, [&](float32x4_t sum) QUIRE_INLINE_LAMBDA { return vfmaq_f32(sum, a, b); });
}

}  // namespace

void FillNeonPeak(CpuTable& table) {
  constexpr std::int64_t kLanes = 4;
  table.peak[static_cast<int>(PeakKind::kF32)] = {RunF32, kAccumulators * kLanes * 2};
}

}  // namespace quire::kernels
