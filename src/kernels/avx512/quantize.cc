// Quantization of rows to int8: a block of 32 values is two registers; its largest magnitude is
// found on the bits as integers, where NaN and infinity sort above every number.
//
// Sixteen rows go together: what is one number a row (magnitude, scale, sums) is then one register,
// folded by transposing, and their divisions and stores are one each.
#include <immintrin.h>

#include "kernels/avx512/scale_parts.h"
#include "kernels/fill.h"
#include "kernels/matmul.h"
#include "kernels/table.h"
#include "kernels/wide/types.h"

namespace quire::kernels {
namespace {

// Sums of the first and the last 16 codes.
struct Sums {
  std::int32_t half[2];
};

Sums SumCodes(__m256i codes) {
  // Sums of eight unsigned bytes each, of codes plus 128.
  const __m256i shifted = _mm256_xor_si256(codes, _mm256_set1_epi8(static_cast<char>(0x80)));
  const __m256i eights = _mm256_sad_epu8(shifted, _mm256_setzero_si256());
  const __m256i sixteens = _mm256_add_epi64(eights, _mm256_unpackhi_epi64(eights, eights));
  constexpr std::int32_t kShift = 16 * 128;
  return {{_mm256_extract_epi32(sixteens, 0) - kShift, _mm256_extract_epi32(sixteens, 4) - kShift}};
}

// The scale of a panel's rule for a block's largest magnitude, and its inverse.
template <ScaleRule kRule>
QUIRE_INLINE ScaleParts ScaleOf(__m512 max, __m512& inverse) {
  const __m512 codes = _mm512_set1_ps(kQuantCodes);
  if constexpr (kRule == ScaleRule::kTwoPowers) {
    const ScaleParts parts = RoundScales(_mm512_div_ps(max, codes));
    inverse = _mm512_div_ps(_mm512_set1_ps(1.0F), parts.scale);
    return parts;
  } else {
    inverse = _mm512_div_ps(codes, max);
    return {_mm512_div_ps(max, codes), _mm512_setzero_si512(), _mm512_setzero_si512()};
  }
}

// Writes 32 codes and their sums; gives the scale, the same in all lanes.
template <ScaleRule kRule>
ScaleParts QuantizeBlock(const float* x, std::int8_t* codes, Sums& sums) {
  const __m512 a = _mm512_loadu_ps(x);
  const __m512 b = _mm512_loadu_ps(x + 16);
  const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
  const __m512i largest = _mm512_max_epi32(_mm512_and_si512(_mm512_castps_si512(a), magnitude),
                                           _mm512_and_si512(_mm512_castps_si512(b), magnitude));
  const int bits = _mm512_reduce_max_epi32(largest);
  const float max = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(bits)));
  if (bits >= kQuantHugeBits || max < kQuantTiny) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes), _mm256_setzero_si256());
    sums = {};
    return WithoutCodes(bits >= kQuantHugeBits);
  }
  __m512 inverse;
  const ScaleParts parts = ScaleOf<kRule>(_mm512_set1_ps(max), inverse);
  const __m128i low = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(a, inverse)));
  const __m128i high = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(b, inverse)));
  const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes), both);
  sums = SumCodes(both);
  return parts;
}

// The panel's place of block `block` and row `row`.
struct Cell {
  Cell(const QuantizeArgs& args, std::int64_t block, std::int64_t row)
      : stride(args.panel_rows),
        codes(args.out.codes + (block * stride + row) * kQuantValues),
        scales(args.out.scales + block * stride + row),
        negative_sums(args.out.negative_sums + 3 * block * stride + row),
        scaled_sums(args.out.scaled_sums + 3 * block * stride + row),
        parts(args.out.parts + 2 * block * stride + row) {}

  std::int64_t stride;
  std::int8_t* codes;
  float* scales;
  std::int32_t* negative_sums;
  float* scaled_sums;
  std::int32_t* parts;
};

template <ScaleRule kRule>
void QuantizeOne(const float* x, const Cell& cell) {
  Sums sums;
  const ScaleParts parts = QuantizeBlock<kRule>(x, cell.codes, sums);
  const float scale = _mm512_cvtss_f32(parts.scale);
  const std::int32_t all[3] = {sums.half[0], sums.half[1], sums.half[0] + sums.half[1]};
  *cell.scales = scale;
  for (int k = 0; k < 3; ++k) {
    cell.negative_sums[k * cell.stride] = -all[k];
    cell.scaled_sums[k * cell.stride] = scale * static_cast<float>(all[k]);
  }
  if constexpr (kRule == ScaleRule::kTwoPowers) {
    cell.parts[0] = _mm512_cvtsi512_si32(parts.start);
    cell.parts[cell.stride] = _mm512_cvtsi512_si32(parts.step);
  }
}

constexpr int kRowsTogether = 16;

// Pairs of neighbours of both, folded: even lanes from a, odd ones from b.
template <typename Fold>
QUIRE_INLINE __m512i FoldTwo(__m512i a, __m512i b, const Fold& fold) {
  return fold(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
}
template <typename Fold>
QUIRE_INLINE __m512i FoldFour(const __m512i* x, const Fold& fold) {
  const __m512i a = FoldTwo(x[0], x[1], fold), b = FoldTwo(x[2], x[3], fold);
  return fold(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}

QUIRE_INLINE __m512i Larger(__m512i a, __m512i b) { return _mm512_max_epi32(a, b); }
QUIRE_INLINE __m512i Sum(__m512i a, __m512i b) { return _mm512_add_epi32(a, b); }

// The largest magnitude of each row, as bits.
QUIRE_INLINE __m512i LargestOfRows(const float* x, std::int64_t stride) {
  const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
  __m512i fours[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    __m512i rows[4];
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
      const float* row = x + (4 * i + r) * stride;
      rows[r] = Larger(_mm512_and_si512(_mm512_loadu_si512(row), magnitude),
                       _mm512_and_si512(_mm512_loadu_si512(row + 16), magnitude));
    }
    fours[i] = FoldFour(rows, Larger);
  }
  // A register of four rows holds four partial results of each, one a quarter.
  const __m512i a = Larger(_mm512_shuffle_i32x4(fours[0], fours[1], 0x88),
                           _mm512_shuffle_i32x4(fours[0], fours[1], 0xDD));
  const __m512i b = Larger(_mm512_shuffle_i32x4(fours[2], fours[3], 0x88),
                           _mm512_shuffle_i32x4(fours[2], fours[3], 0xDD));
  return Larger(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xDD));
}

// x * inverse as 32 codes; NaN and infinity, whose inverse is 0, give 0.
QUIRE_INLINE __m256i CodesOf(const float* x, float inverse) {
  const __m512 factor = _mm512_set1_ps(inverse);
  const __m512i low = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x), factor));
  const __m512i high = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + 16), factor));
  const __m256i mixed = _mm512_cvtepi16_epi8(_mm512_packs_epi32(low, high));
  return _mm256_permutevar8x32_epi32(mixed, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
}

// Writes the codes of 16 rows; gives the sums of their first and last 16.
QUIRE_INLINE void WriteCodes(const float* x, std::int64_t stride, const float* inverses,
                             std::int8_t* codes, __m512i* halves) {
  __m512i eights[2];
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    __m512i sums[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      const int r = 8 * i + 2 * k;
      const __m512i two =
          _mm512_inserti64x4(_mm512_castsi256_si512(CodesOf(x + r * stride, inverses[r])),
                             CodesOf(x + (r + 1) * stride, inverses[r + 1]), 1);
      _mm512_storeu_si512(codes + r * kQuantValues, two);
      sums[k] = _mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_set1_epi8(1), two);
    }
    eights[i] = FoldFour(sums, Sum);
  }
  // Quarters: even rows' first halves, their last ones, odd rows' first halves, their last ones.
  const __m512i first = _mm512_setr_epi32(0, 8, 1, 9, 2, 10, 3, 11, 16, 24, 17, 25, 18, 26, 19, 27);
  const __m512i last = _mm512_add_epi32(first, _mm512_set1_epi32(4));
  halves[0] = _mm512_permutex2var_epi32(eights[0], first, eights[1]);
  halves[1] = _mm512_permutex2var_epi32(eights[0], last, eights[1]);
}

template <ScaleRule kRule>
void QuantizeTogether(const float* x, std::int64_t stride, const Cell& cell) {
  const __m512i bits = LargestOfRows(x, stride);
  const __m512 max = _mm512_castsi512_ps(bits);
  const __mmask16 is_bad = _mm512_cmpge_epi32_mask(bits, _mm512_set1_epi32(kQuantHugeBits));
  const __mmask16 has_codes =
      static_cast<__mmask16>(_mm512_cmp_ps_mask(max, _mm512_set1_ps(kQuantTiny), _CMP_GE_OQ) &
                             static_cast<__mmask16>(~is_bad));
  __m512 inverse;
  ScaleParts parts = ScaleOf<kRule>(max, inverse);
  parts = Choose(has_codes, WithoutCodes(/*is_nan=*/false), parts);
  parts = Choose(is_bad, parts, WithoutCodes(/*is_nan=*/true));
  alignas(64) float inverses[kRowsTogether];
  _mm512_store_ps(inverses, _mm512_maskz_mov_ps(has_codes, inverse));
  _mm512_storeu_ps(cell.scales, parts.scale);
  if constexpr (kRule == ScaleRule::kTwoPowers) {
    _mm512_storeu_si512(cell.parts, parts.start);
    _mm512_storeu_si512(cell.parts + cell.stride, parts.step);
  }
  __m512i sums[3];  // of the first half, the last, both
  WriteCodes(x, stride, inverses, cell.codes, sums);
  sums[2] = Sum(sums[0], sums[1]);
#pragma GCC unroll 3
  for (int k = 0; k < 3; ++k) {
    _mm512_storeu_si512(cell.negative_sums + k * cell.stride,
                        _mm512_sub_epi32(_mm512_setzero_si512(), sums[k]));
    _mm512_storeu_ps(cell.scaled_sums + k * cell.stride,
                     _mm512_mul_ps(parts.scale, _mm512_cvtepi32_ps(sums[k])));
  }
}

template <ScaleRule kRule>
void Quantize(const QuantizeArgs& args) {
  std::int64_t r = 0;
  for (; r + kRowsTogether <= args.rows; r += kRowsTogether) {
    const float* x = args.x + r * args.x_stride;
    for (std::int64_t b = 0; b < args.blocks; ++b) {
      QuantizeTogether<kRule>(x + b * kQuantValues, args.x_stride,
                              Cell(args, b, args.first_row + r));
    }
  }
  for (; r < args.rows; ++r) {
    const float* x = args.x + r * args.x_stride;
    for (std::int64_t b = 0; b < args.blocks; ++b) {
      QuantizeOne<kRule>(x + b * kQuantValues, Cell(args, b, args.first_row + r));
    }
  }
}

}  // namespace

void FillAvx512Quantize(CpuTable& table) {
  table.quantize = table.scale_rule == ScaleRule::kTwoPowers ? Quantize<ScaleRule::kTwoPowers>
                                                             : Quantize<ScaleRule::kExact>;
}

}  // namespace quire::kernels
