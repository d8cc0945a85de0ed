// Ten accumulators, two instructions a cycle of a latency of four to five: the units are full. An
// empty asm that claims to change an operand keeps the compiler from taking the loop apart.
#include <immintrin.h>

#include "kernels/fill.h"
#include "kernels/table.h"

namespace quire::kernels {
namespace {

constexpr int kAccumulators = 10;
constexpr int kProductsPerSum = 4;  // 4-bit by 8-bit products of a pair stay below 2^12

void RunF32(std::int64_t rounds) {
  __m256 sums[kAccumulators] = {}, a = _mm256_set1_ps(1.0F), b = a;
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 10
    for (__m256& sum : sums) {
      sum = _mm256_fmadd_ps(a, b, sum);
      asm volatile("" : "+x"(sum));
    }
  }
}

void RunInt8(std::int64_t rounds) {
  __m256i sums[kAccumulators] = {}, a = _mm256_set1_epi8(1), b = a, ones = _mm256_set1_epi16(1);
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 10
    for (__m256i& sum : sums) {
      asm volatile("" : "+x"(a));
      __m256i pairs = _mm256_maddubs_epi16(a, b);
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
    }
  }
  for (__m256i& sum : sums) asm volatile("" : "+x"(sum));
}

void RunInt8Short(std::int64_t rounds) {
  __m256i sums[kAccumulators] = {}, a = _mm256_set1_epi8(1), b = a, ones = _mm256_set1_epi16(1);
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 10
    for (__m256i& sum : sums) {
      asm volatile("" : "+x"(a));
      __m256i pairs = _mm256_maddubs_epi16(a, b);
#pragma GCC unroll 3
      for (int k = 1; k < kProductsPerSum; ++k) {
        asm volatile("" : "+x"(a));
        pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(a, b));
      }
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
    }
  }
  for (__m256i& sum : sums) asm volatile("" : "+x"(sum));
}

}  // namespace

void FillAvx2Peak(CpuTable& table) {
  constexpr std::int64_t kLanes = 8, kBytes = 32;
  table.peak[static_cast<int>(PeakKind::kF32)] = {RunF32, kAccumulators * kLanes * 2};
  table.peak[static_cast<int>(PeakKind::kInt8)] = {RunInt8, kAccumulators * kBytes * 2};
  table.peak[static_cast<int>(PeakKind::kInt8Short)] = {
      RunInt8Short, kAccumulators * kProductsPerSum * kBytes * 2};
}

}  // namespace quire::kernels
