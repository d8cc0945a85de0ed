// Quantization of rows to int8: a block of 32 values is two registers; its largest magnitude is
// found on the bits as integers, where NaN and infinity sort above every number.
#include <immintrin.h>

#include "kernels/fill.h"
#include "kernels/matmul.h"
#include "kernels/table.h"

namespace quire::kernels {
namespace {

constexpr int kInfinityBits = 0x7F800000;

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

// Writes 32 codes and their sums; gives the scale.
float QuantizeBlock(const float* x, std::int8_t* codes, Sums& sums) {
  const __m512 a = _mm512_loadu_ps(x);
  const __m512 b = _mm512_loadu_ps(x + 16);
  const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
  const __m512i largest = _mm512_max_epi32(_mm512_and_si512(_mm512_castps_si512(a), magnitude),
                                           _mm512_and_si512(_mm512_castps_si512(b), magnitude));
  const int bits = _mm512_reduce_max_epi32(largest);
  const float max = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(bits)));
  if (bits >= kInfinityBits || max < kQuantTiny) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes), _mm256_setzero_si256());
    sums = {};
    return bits >= kInfinityBits ? __builtin_nanf("") : 0.0F;
  }
  const __m512 inverse = _mm512_set1_ps(127.0F / max);
  const __m128i low = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(a, inverse)));
  const __m128i high = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(b, inverse)));
  const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes), both);
  sums = SumCodes(both);
  return max / 127.0F;
}

void Quantize(const QuantizeArgs& args) {
  const std::int64_t stride = args.panel_rows;
  for (std::int64_t b = 0; b < args.blocks; ++b) {
    for (std::int64_t r = 0; r < args.rows; ++r) {
      const std::int64_t row = args.first_row + r;
      Sums sums;
      const float scale = QuantizeBlock(args.x + r * args.x_stride + b * kQuantValues,
                                        args.out.codes + (b * stride + row) * kQuantValues, sums);
      const std::int32_t all[3] = {sums.half[0], sums.half[1], sums.half[0] + sums.half[1]};
      args.out.scales[b * stride + row] = scale;
      for (int k = 0; k < 3; ++k) {
        args.out.negative_sums[(3 * b + k) * stride + row] = -all[k];
        args.out.scaled_sums[(3 * b + k) * stride + row] = scale * static_cast<float>(all[k]);
      }
    }
  }
}

}  // namespace

void FillAvx512Quantize(CpuTable& table) { table.quantize = Quantize; }

}  // namespace quire::kernels
