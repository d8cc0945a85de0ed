// As neon/peak.cc, for `sdot`.
#include <arm_neon.h>

#include "kernels/fill.h"
#include "kernels/table.h"
#include "kernels/wide/peak_body.h"

namespace quire::kernels {
namespace {

constexpr int kAccumulators = 16;

void RunInt8(std::int64_t rounds) {
  const int8x16_t a = vdupq_n_s8(1), b = a;
  RunAccumulators<kAccumulators, int32x4_t>(
      rounds, [&](int32x4_t sum) QUIRE_INLINE_LAMBDA { return vdotq_s32(sum, a, b); });
}

}  // namespace

void FillNeonDotPeak(CpuTable& table) {
  constexpr std::int64_t kProducts = 16;
  table.peak[static_cast<int>(PeakKind::kInt8)] = {RunInt8, kAccumulators * kProducts * 2};
}

}  // namespace quire::kernels
