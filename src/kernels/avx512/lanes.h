// A register of f32 lanes as the code in kernels/wide/ sees it: AVX-512.
#pragma once

#include <immintrin.h>

#include "kernels/wide/types.h"

namespace quire::kernels {
namespace {

using Floats = __m512;
using Mask = __mmask16;
constexpr int kWidth = 16;
constexpr int kRegisters = 32;

// The first `count` lanes; all of them from kWidth up.
QUIRE_INLINE Mask First(std::int64_t count) {
  return count >= kWidth ? 0xFFFF : static_cast<Mask>((1U << count) - 1);
}

QUIRE_INLINE Floats Zero() { return _mm512_setzero_ps(); }
QUIRE_INLINE Floats Set(float x) { return _mm512_set1_ps(x); }

QUIRE_INLINE Floats Load(const float* x) { return _mm512_loadu_ps(x); }
QUIRE_INLINE Floats Load(const F16Bits* x) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
}
QUIRE_INLINE Floats WidenBf16(__m256i x) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}
QUIRE_INLINE Floats Load(const Bf16Bits* x) {
  return WidenBf16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
}
QUIRE_INLINE Floats WidenInt8(__m128i x) { return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(x)); }
QUIRE_INLINE Floats Load(const std::int8_t* x) {
  return WidenInt8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
}

// Lanes that are off are 0 and not read.
QUIRE_INLINE Floats Load(const float* x, Mask mask) { return _mm512_maskz_loadu_ps(mask, x); }
QUIRE_INLINE Floats Load(const F16Bits* x, Mask mask) {
  return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, x));
}
QUIRE_INLINE Floats Load(const Bf16Bits* x, Mask mask) {
  return WidenBf16(_mm256_maskz_loadu_epi16(mask, x));
}
QUIRE_INLINE Floats Load(const std::int8_t* x, Mask mask) {
  return WidenInt8(_mm_maskz_loadu_epi8(mask, x));
}
QUIRE_INLINE Floats Load(const float* x, AllLanes) { return Load(x); }
QUIRE_INLINE Floats Load(const F16Bits* x, AllLanes) { return Load(x); }
QUIRE_INLINE Floats Load(const Bf16Bits* x, AllLanes) { return Load(x); }
QUIRE_INLINE Floats Load(const std::int8_t* x, AllLanes) { return Load(x); }

QUIRE_INLINE void KeepLoaded(Floats&) {}  // nothing is gained

QUIRE_INLINE void Store(float* out, Floats x) { _mm512_storeu_ps(out, x); }
QUIRE_INLINE void Store(float* out, Floats x, Mask mask) { _mm512_mask_storeu_ps(out, mask, x); }
QUIRE_INLINE void Store(float* out, Floats x, AllLanes) { Store(out, x); }

// Rounded to nearest even; what is too large for a half becomes its largest value, NaN stays NaN.
QUIRE_INLINE void Store(F16Bits* out, Floats x) {
  const __m512 largest = _mm512_set1_ps(65504.0F);
  const __m512 bounded =
      _mm512_max_ps(_mm512_sub_ps(_mm512_setzero_ps(), largest), _mm512_min_ps(largest, x));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                      _mm512_cvtps_ph(bounded, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
QUIRE_INLINE void Store(Bf16Bits* out, Floats x) {
  const __m512i bits = _mm512_castps_si512(x);
  const __m512i high = _mm512_srli_epi32(bits, 16);
  const __m512i odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_srli_epi32(
      _mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7FFF)), 16);
  const __m512i nan = _mm512_or_si512(high, _mm512_set1_epi32(64));
  const __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                      _mm512_cvtepi32_epi16(_mm512_mask_blend_epi32(is_nan, rounded, nan)));
}
// Rounded to nearest even; |x| < 127.5.
QUIRE_INLINE void Store(std::int8_t* out, Floats x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(x)));
}

// x[0], x[stride] and so on.
QUIRE_INLINE Floats LoadStrided(const float* x, std::int64_t stride) {
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return _mm512_i32gather_ps(_mm512_mullo_epi32(lane, _mm512_set1_epi32(static_cast<int>(stride))),
                             x, 4);
}

QUIRE_INLINE Floats Add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
QUIRE_INLINE Floats Subtract(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
QUIRE_INLINE Floats Multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
QUIRE_INLINE Floats Divide(Floats a, Floats b) { return _mm512_div_ps(a, b); }
// a * b + c, rounded once.
QUIRE_INLINE Floats Fused(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
QUIRE_INLINE Floats RoundToEven(Floats x) {
  return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
// a > b ? a : b, so b where either is NaN.
QUIRE_INLINE Floats Larger(Floats a, Floats b) { return _mm512_max_ps(a, b); }

// Ordered: false where either is NaN.
QUIRE_INLINE Mask IsGreater(Floats a, Floats b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
QUIRE_INLINE Mask IsEqual(Floats a, Floats b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
QUIRE_INLINE Floats Select(Mask mask, Floats yes, Floats no) {
  return _mm512_mask_blend_ps(mask, no, yes);
}
QUIRE_INLINE Floats Select(AllLanes, Floats yes, Floats) { return yes; }
QUIRE_INLINE Floats ZeroWhere(Mask mask, Floats x) { return Select(mask, Zero(), x); }
// Index of the first lane that is on, or -1.
QUIRE_INLINE int FirstSet(Mask mask) { return mask == 0 ? -1 : __builtin_ctz(mask); }

// x * 2^n for whole n in [-126, 127].
QUIRE_INLINE Floats ScaleByPower(Floats x, Floats n) {
  const __m512i exponent = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
  return _mm512_mul_ps(x, _mm512_castsi512_ps(_mm512_slli_epi32(exponent, 23)));
}

// kWidth / 2 values, each twice.
QUIRE_INLINE Floats LoadTwice(const float* x) {
  const __m512i twice = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
  return _mm512_permutexvar_ps(twice, _mm512_castps256_ps512(_mm256_loadu_ps(x)));
}
// Lanes 2i and 2i + 1 exchanged.
QUIRE_INLINE Floats SwapNeighbours(Floats x) { return _mm512_permute_ps(x, 0xB1); }
// Lanes 0, 2, 4 and so on with their sign changed.
QUIRE_INLINE Floats NegateEven(Floats x) {
  const __m512i signs = _mm512_set1_epi64(static_cast<long long>(0x80000000U));
  return _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(x), signs));
}

// Folds the kLanes lanes of kLanes / kWidth registers by halves.
QUIRE_INLINE float FoldHalves(const Floats* lanes) {
  const __m256 eight =
      _mm256_add_ps(_mm512_castps512_ps256(lanes[0]), _mm512_extractf32x8_ps(lanes[0], 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

QUIRE_INLINE float LargestLane(Floats x) { return _mm512_reduce_max_ps(x); }

}  // namespace
}  // namespace quire::kernels
