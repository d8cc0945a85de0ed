// Scales that are two powers of two together, and what a product by adding needs of them
// (ScaleRule in kernels/matmul.h). One scale a lane.
#pragma once

#include <cstdint>

#include <immintrin.h>

#include "kernels/matmul.h"
#include "kernels/wide/types.h"

namespace quire::kernels {
namespace {

constexpr int kExponentBit = 23;   // of an f32
constexpr int kSixteenthBit = 19;  // of its mantissa

// The step for a scale of 16 + k sixteenths: minus j exponents, and the sign where the second power
// is taken away.
constexpr int StepOf(int k) {
  constexpr std::uint32_t kSign = 0x80000000;
  constexpr std::uint32_t kJ[16] = {0, 4, 3, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, 0, 4, 5};
  return static_cast<int>((k < 12 ? 0 : kSign) - (kJ[k] << kExponentBit));
}

struct ScaleParts {
  __m512 scale;
  __m512i start;
  __m512i step;
};

// `at_least` rounded up; its lanes are normal numbers, or what comes out means nothing.
QUIRE_INLINE ScaleParts RoundScales(__m512 at_least) {
  const __m512i below = _mm512_sub_epi32(_mm512_castps_si512(at_least), _mm512_set1_epi32(1));
  const __m512i exponent = _mm512_and_si512(below, _mm512_set1_epi32(0x7F800000));
  const __m512i sixteenths = _mm512_srli_epi32(below, kSixteenthBit);  // the low four bits
  // Rounded up; 16 is the next power of two, which is twice this one.
  const __m512i next = _mm512_permutexvar_epi32(
      sixteenths, _mm512_setr_epi32(1, 2, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12, 14, 14, 15, 16));
  const __m512i steps =
      _mm512_setr_epi32(StepOf(0), StepOf(1), StepOf(2), 0, StepOf(4), 0, 0, 0, StepOf(8), 0, 0, 0,
                        StepOf(12), 0, StepOf(14), StepOf(15));
  // Where the second power is taken away, the first is the next one.
  constexpr int kUp = 1 << kExponentBit;
  const __m512i up = _mm512_permutexvar_epi32(
      sixteenths, _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, kUp, kUp, kUp, kUp, kUp, kUp, kUp, 0));
  const __m512i start = _mm512_set1_epi32(kStartBits - kOneBits);
  return {_mm512_castsi512_ps(_mm512_add_epi32(exponent, _mm512_slli_epi32(next, kSixteenthBit))),
          _mm512_add_epi32(_mm512_add_epi32(exponent, up), start),
          _mm512_permutexvar_epi32(next, steps)};
}

// The parts of a scale that is 0 or NaN.
QUIRE_INLINE ScaleParts WithoutCodes(bool is_nan) {
  const __m512 nan = _mm512_set1_ps(__builtin_nanf(""));
  return {is_nan ? nan : _mm512_setzero_ps(),
          is_nan ? _mm512_castps_si512(nan) : _mm512_set1_epi32(kStartBits),
          _mm512_setzero_si512()};
}

QUIRE_INLINE ScaleParts Choose(__mmask16 mask, const ScaleParts& otherwise, const ScaleParts& x) {
  return {_mm512_mask_blend_ps(mask, otherwise.scale, x.scale),
          _mm512_mask_blend_epi32(mask, otherwise.start, x.start),
          _mm512_mask_blend_epi32(mask, otherwise.step, x.step)};
}

}  // namespace
}  // namespace quire::kernels
