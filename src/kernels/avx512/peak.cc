// Two instructions a cycle of a latency of four to five; dpbusd multiplies and sums in one, so
// nothing is gained by sums of 16 bits.
#include <immintrin.h>

#include "kernels/fill.h"
#include "kernels/table.h"
#include "kernels/wide/peak_body.h"

namespace quire::kernels {
namespace {

constexpr int kAccumulators = 12;

void RunF32(std::int64_t rounds) {
  const __m512 a = _mm512_set1_ps(1.0F), b = a;
  RunAccumulators<kAccumulators, __m512>(
      rounds, [&](__m512 sum) QUIRE_INLINE_LAMBDA { return _mm512_fmadd_ps(a, b, sum); });
}

void RunInt8(std::int64_t rounds) {
  const __m512i a = _mm512_set1_epi8(1), b = a;
  RunAccumulators<kAccumulators, __m512i>(
      rounds, [&](__m512i sum) QUIRE_INLINE_LAMBDA { return _mm512_dpbusd_epi32(sum, a, b); });
}

}  // namespace

void FillAvx512Peak(CpuTable& table) {
  constexpr std::int64_t kFloats = 16, kBytes = 64;
  table.peak[static_cast<int>(PeakKind::kF32)] = {RunF32, kAccumulators * kFloats * 2};
  table.peak[static_cast<int>(PeakKind::kInt8)] = {RunInt8, kAccumulators * kBytes * 2};
  table.peak[static_cast<int>(PeakKind::kInt8Short)] = {};
}

}  // namespace quire::kernels
