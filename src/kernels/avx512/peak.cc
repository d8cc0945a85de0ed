// As avx2/peak.cc; dpbusd multiplies and sums in one, so nothing is gained by sums of 16 bits.
#include <immintrin.h>

#include "kernels/fill.h"
#include "kernels/table.h"

namespace quire::kernels {
namespace {

constexpr int kAccumulators = 12;

void RunF32(std::int64_t rounds) {
  __m512 sums[kAccumulators] = {}, a = _mm512_set1_ps(1.0F), b = a;
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (__m512& sum : sums) {
      sum = _mm512_fmadd_ps(a, b, sum);
      asm volatile("" : "+v"(sum));
    }
  }
}

void RunInt8(std::int64_t rounds) {
  __m512i sums[kAccumulators] = {}, a = _mm512_set1_epi8(1), b = a;
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (__m512i& sum : sums) {
      sum = _mm512_dpbusd_epi32(sum, a, b);
      asm volatile("" : "+v"(sum));
    }
  }
}

}  // namespace

void FillAvx512Peak(CpuTable& table) {
  constexpr std::int64_t kLanes = 16, kBytes = 64;
  table.peak[static_cast<int>(PeakKind::kF32)] = {RunF32, kAccumulators * kLanes * 2};
  table.peak[static_cast<int>(PeakKind::kInt8)] = {RunInt8, kAccumulators * kBytes * 2};
  table.peak[static_cast<int>(PeakKind::kInt8Short)] = {};
}

}  // namespace quire::kernels
