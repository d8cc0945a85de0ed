// Quantization of rows to int8: a block of 32 values is four registers; its largest magnitude is
// found on the bits as integers, where NaN and infinity sort above every number.
#include <immintrin.h>

#include "kernels/fill.h"
#include "kernels/matmul.h"
#include "kernels/table.h"
#include "kernels/wide/quantize_body.h"

namespace quire::kernels {
namespace {

CodeSums SumCodes(__m256i codes) {
  // CodeSums of eight unsigned bytes each, of codes plus 128.
  const __m256i shifted = _mm256_xor_si256(codes, _mm256_set1_epi8(static_cast<char>(0x80)));
  const __m256i eights = _mm256_sad_epu8(shifted, _mm256_setzero_si256());
  const __m256i sixteens = _mm256_add_epi64(eights, _mm256_unpackhi_epi64(eights, eights));
  constexpr std::int32_t kShift = 16 * 128;
  return {{_mm256_extract_epi32(sixteens, 0) - kShift, _mm256_extract_epi32(sixteens, 4) - kShift}};
}

int LargestLane(__m256i x) {
  const __m128i four = _mm_max_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
  const __m128i two = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4E));
  return _mm_cvtsi128_si32(_mm_max_epi32(two, _mm_shuffle_epi32(two, 0xB1)));
}

// Writes 32 codes and their sums; gives the scale.
float QuantizeBlock(const float* x, std::int8_t* codes, CodeSums& sums) {
  __m256 values[4];
  __m256i largest = _mm256_setzero_si256();
  for (int i = 0; i < 4; ++i) {
    values[i] = _mm256_loadu_ps(x + 8 * i);
    const __m256i bits = _mm256_castps_si256(values[i]);
    largest = _mm256_max_epi32(largest, _mm256_and_si256(bits, _mm256_set1_epi32(0x7FFFFFFF)));
  }
  const int bits = LargestLane(largest);
  const float max = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(bits)));
  if (bits >= kQuantHugeBits || max < kQuantTiny) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes), _mm256_setzero_si256());
    sums = {};
    return bits >= kQuantHugeBits ? __builtin_nanf("") : 0.0F;
  }
  const __m256 inverse = _mm256_set1_ps(kQuantCodes / max);
  __m256i rounded[4];
  for (int i = 0; i < 4; ++i) rounded[i] = _mm256_cvtps_epi32(_mm256_mul_ps(values[i], inverse));
  // Packing works in halves of registers; the permutation brings fours of codes back in order.
  const __m256i low = _mm256_packs_epi32(rounded[0], rounded[1]);
  const __m256i high = _mm256_packs_epi32(rounded[2], rounded[3]);
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i packed = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes), packed);
  sums = SumCodes(packed);
  return max / kQuantCodes;
}

void Quantize(const QuantizeArgs& args) { QuantizeByBlocks(args, QuantizeBlock); }

}  // namespace

void FillAvx2Quantize(CpuTable& table) { table.quantize = Quantize; }

}  // namespace quire::kernels
