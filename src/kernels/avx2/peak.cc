// Two instructions a cycle of a latency of four to five.
#include <immintrin.h>

#include "kernels/fill.h"
#include "kernels/table.h"
#include "kernels/wide/peak_body.h"

namespace quire::kernels {
namespace {

constexpr int kAccumulators = 10;
constexpr int kProductsPerSum = 4;  // 4-bit by 8-bit products of a pair stay below 2^12

void RunF32(std::int64_t rounds) {
  const __m256 a = _mm256_set1_ps(1.0F), b = a;
  RunAccumulators<kAccumulators, __m256>(
      rounds, [&](__m256 sum) QUIRE_INLINE_LAMBDA { return _mm256_fmadd_ps(a, b, sum); });
}

// kProducts are summed in 16 bits first.
template <int kProducts>
void RunProducts(std::int64_t rounds) {
  const __m256i b = _mm256_set1_epi8(1), ones = _mm256_set1_epi16(1);
  __m256i a = b;
  RunAccumulators<kAccumulators, __m256i>(rounds, [&](__m256i sum) QUIRE_INLINE_LAMBDA {
    Change(a);
    __m256i pairs = _mm256_maddubs_epi16(a, b);
#pragma GCC unroll 3
    for (int k = 1; k < kProducts; ++k) {
      Change(a);
      pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(a, b));
    }
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
  });
}

}  // namespace

void FillAvx2Peak(CpuTable& table) {
  constexpr std::int64_t kFloats = 8, kBytes = 32;
  table.peak[static_cast<int>(PeakKind::kF32)] = {RunF32, kAccumulators * kFloats * 2};
  table.peak[static_cast<int>(PeakKind::kInt8)] = {RunProducts<1>, kAccumulators * kBytes * 2};
  table.peak[static_cast<int>(PeakKind::kInt8Short)] = {
      RunProducts<kProductsPerSum>, kAccumulators * kProductsPerSum * kBytes * 2};
}

}  // namespace quire::kernels
