// A register of f32 lanes as the code in kernels/wide/ sees it: AVX2 with FMA and F16C.
#pragma once

#include <immintrin.h>

#include "kernels/wide/types.h"

namespace quire::kernels {
namespace {

using Floats = __m256;
using Mask = __m256i;  // all bits of a lane on or off
constexpr int kWidth = 8;
constexpr int kRegisters = 16;

// The first `count` lanes; all of them from kWidth up.
QUIRE_INLINE Mask First(std::int64_t count) {
  const int on = count >= kWidth ? kWidth : static_cast<int>(count);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(on), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

QUIRE_INLINE Floats Zero() { return _mm256_setzero_ps(); }
QUIRE_INLINE Floats Set(float x) { return _mm256_set1_ps(x); }

QUIRE_INLINE Floats WidenF16(__m128i x) { return _mm256_cvtph_ps(x); }
QUIRE_INLINE Floats WidenBf16(__m128i x) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
}
QUIRE_INLINE int CountOf(Mask mask) {
  return __builtin_popcount(static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(mask))));
}
// Eight 16-bit values, of which those off are 0 and not read. There is no masked load of 16 bits.
QUIRE_INLINE __m128i LoadHalves(const std::uint16_t* x, Mask mask) {
  const int on = CountOf(mask);
  if (on == kWidth) return _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
  alignas(16) std::uint16_t values[kWidth] = {};
  for (int i = 0; i < on; ++i) values[i] = x[i];
  return _mm_load_si128(reinterpret_cast<const __m128i*>(values));
}

QUIRE_INLINE Floats Load(const float* x) { return _mm256_loadu_ps(x); }
QUIRE_INLINE Floats Load(const F16Bits* x) {
  return WidenF16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
}
QUIRE_INLINE Floats Load(const Bf16Bits* x) {
  return WidenBf16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
}
QUIRE_INLINE Floats WidenInt8(__m128i x) { return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(x)); }
QUIRE_INLINE Floats Load(const std::int8_t* x) {
  return WidenInt8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x)));
}

// Lanes that are off are 0 and not read.
QUIRE_INLINE Floats Load(const float* x, Mask mask) { return _mm256_maskload_ps(x, mask); }
QUIRE_INLINE Floats Load(const F16Bits* x, Mask mask) {
  return WidenF16(LoadHalves(reinterpret_cast<const std::uint16_t*>(x), mask));
}
QUIRE_INLINE Floats Load(const Bf16Bits* x, Mask mask) {
  return WidenBf16(LoadHalves(reinterpret_cast<const std::uint16_t*>(x), mask));
}
QUIRE_INLINE Floats Load(const std::int8_t* x, Mask mask) {
  const int on = CountOf(mask);
  if (on == kWidth) return Load(x);
  alignas(8) std::int8_t values[kWidth] = {};
  for (int i = 0; i < on; ++i) values[i] = x[i];
  return Load(values);
}
QUIRE_INLINE Floats Load(const float* x, AllLanes) { return Load(x); }
QUIRE_INLINE Floats Load(const F16Bits* x, AllLanes) { return Load(x); }
QUIRE_INLINE Floats Load(const Bf16Bits* x, AllLanes) { return Load(x); }
QUIRE_INLINE Floats Load(const std::int8_t* x, AllLanes) { return Load(x); }

// Keeps g++ from making what was loaded an operand in memory of each use, where there are too few
// loads a cycle for it.
QUIRE_INLINE void KeepLoaded(Floats& x) { asm("" : "+x"(x)); }

QUIRE_INLINE void Store(float* out, Floats x) { _mm256_storeu_ps(out, x); }
QUIRE_INLINE void Store(float* out, Floats x, Mask mask) { _mm256_maskstore_ps(out, mask, x); }
QUIRE_INLINE void Store(float* out, Floats x, AllLanes) { Store(out, x); }

// Rounded to nearest even; what is too large for a half becomes its largest value, NaN stays NaN.
QUIRE_INLINE void Store(F16Bits* out, Floats x) {
  const __m256 largest = _mm256_set1_ps(65504.0F);
  const __m256 bounded =
      _mm256_max_ps(_mm256_sub_ps(_mm256_setzero_ps(), largest), _mm256_min_ps(largest, x));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                   _mm256_cvtps_ph(bounded, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
QUIRE_INLINE void Store(Bf16Bits* out, Floats x) {
  const __m256i bits = _mm256_castps_si256(x);
  const __m256i high = _mm256_srli_epi32(bits, 16);
  const __m256i odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_srli_epi32(
      _mm256_add_epi32(_mm256_add_epi32(bits, odd), _mm256_set1_epi32(0x7FFF)), 16);
  const __m256i nan = _mm256_or_si256(high, _mm256_set1_epi32(64));
  const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  const __m256i words = _mm256_blendv_epi8(rounded, nan, is_nan);
  _mm_storeu_si128(
      reinterpret_cast<__m128i*>(out),
      _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}
// Rounded to nearest even; |x| < 127.5.
QUIRE_INLINE void Store(std::int8_t* out, Floats x) {
  const __m256i codes = _mm256_cvtps_epi32(x);
  const __m128i words =
      _mm_packs_epi32(_mm256_castsi256_si128(codes), _mm256_extracti128_si256(codes, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_packs_epi16(words, words));
}

// x[0], x[stride] and so on.
QUIRE_INLINE Floats LoadStrided(const float* x, std::int64_t stride) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_i32gather_ps(
      x, _mm256_mullo_epi32(lane, _mm256_set1_epi32(static_cast<int>(stride))), 4);
}

QUIRE_INLINE Floats Add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
QUIRE_INLINE Floats Subtract(Floats a, Floats b) { return _mm256_sub_ps(a, b); }
QUIRE_INLINE Floats Multiply(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
QUIRE_INLINE Floats Divide(Floats a, Floats b) { return _mm256_div_ps(a, b); }
// a * b + c, rounded once.
QUIRE_INLINE Floats Fused(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
QUIRE_INLINE Floats RoundToEven(Floats x) {
  return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
// a > b ? a : b, so b where either is NaN.
QUIRE_INLINE Floats Larger(Floats a, Floats b) { return _mm256_max_ps(a, b); }

// Ordered: false where either is NaN.
QUIRE_INLINE Mask IsGreater(Floats a, Floats b) {
  return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_GT_OQ));
}
QUIRE_INLINE Mask IsEqual(Floats a, Floats b) {
  return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_EQ_OQ));
}
QUIRE_INLINE Floats Select(Mask mask, Floats yes, Floats no) {
  return _mm256_blendv_ps(no, yes, _mm256_castsi256_ps(mask));
}
QUIRE_INLINE Floats Select(AllLanes, Floats yes, Floats) { return yes; }
QUIRE_INLINE Floats ZeroWhere(Mask mask, Floats x) {
  return _mm256_andnot_ps(_mm256_castsi256_ps(mask), x);
}
// Index of the first lane that is on, or -1.
QUIRE_INLINE int FirstSet(Mask mask) {
  const int bits = _mm256_movemask_ps(_mm256_castsi256_ps(mask));
  return bits == 0 ? -1 : __builtin_ctz(static_cast<unsigned>(bits));
}

// x * 2^n for whole n in [-126, 127].
QUIRE_INLINE Floats ScaleByPower(Floats x, Floats n) {
  const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
  return _mm256_mul_ps(x, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)));
}

// kWidth / 2 values, each twice.
QUIRE_INLINE Floats LoadTwice(const float* x) {
  return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(x)),
                                  _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
}
// Lanes 2i and 2i + 1 exchanged.
QUIRE_INLINE Floats SwapNeighbours(Floats x) { return _mm256_permute_ps(x, 0xB1); }
// Lanes 0, 2, 4 and so on with their sign changed.
QUIRE_INLINE Floats NegateEven(Floats x) {
  return _mm256_xor_ps(
      x, _mm256_castsi256_ps(_mm256_set1_epi64x(static_cast<long long>(0x80000000U))));
}

// Folds the kLanes lanes of kLanes / kWidth registers by halves.
QUIRE_INLINE float FoldHalves(const Floats* lanes) {
  const __m256 eight = _mm256_add_ps(lanes[0], lanes[1]);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

QUIRE_INLINE float LargestLane(Floats x) {
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

}  // namespace
}  // namespace quire::kernels
