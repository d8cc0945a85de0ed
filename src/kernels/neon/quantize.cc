// Quantization of rows to int8: a block of 32 values is eight registers; its largest magnitude is
// found on the bits as integers, where NaN and infinity sort above every number.
#include <arm_neon.h>

#include "kernels/fill.h"
#include "kernels/matmul.h"
#include "kernels/table.h"
#include "kernels/wide/quantize_body.h"

namespace quire::kernels {
namespace {

constexpr int kRegisters = kQuantValues / 4;

QUIRE_INLINE int LargestBits(const float32x4_t* values) {
  uint32x4_t largest = vdupq_n_u32(0);
#pragma GCC unroll 8
  for (int i = 0; i < kRegisters; ++i) {
    largest = vmaxq_u32(largest, vreinterpretq_u32_f32(vabsq_f32(values[i])));
  }
  return static_cast<int>(vmaxvq_u32(largest));
}

// 16 codes, each in [-127, 127] before it is narrowed.
QUIRE_INLINE int8x16_t CodesOf(const float32x4_t* values, float inverse) {
  int16x8_t eights[2];
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    const int32x4_t low = vcvtnq_s32_f32(vmulq_n_f32(values[2 * i], inverse));
    const int32x4_t high = vcvtnq_s32_f32(vmulq_n_f32(values[2 * i + 1], inverse));
    eights[i] = vuzp1q_s16(vreinterpretq_s16_s32(low), vreinterpretq_s16_s32(high));
  }
  return vuzp1q_s8(vreinterpretq_s8_s16(eights[0]), vreinterpretq_s8_s16(eights[1]));
}

float FromBits(int bits) { return vget_lane_f32(vreinterpret_f32_s32(vdup_n_s32(bits)), 0); }

// Writes 32 codes and their sums; gives the scale.
QUIRE_INLINE float QuantizeBlock(const float* x, std::int8_t* codes, CodeSums& sums) {
  float32x4_t values[kRegisters];
#pragma GCC unroll 8
  for (int i = 0; i < kRegisters; ++i) values[i] = vld1q_f32(x + 4 * i);
  const int bits = LargestBits(values);
  if (bits >= kQuantHugeBits || FromBits(bits) < kQuantTiny) {
    for (int h = 0; h < 2; ++h) vst1q_s8(codes + 16 * h, vdupq_n_s8(0));
    sums = {};
    return bits >= kQuantHugeBits ? __builtin_nanf("") : 0.0F;
  }
  const float max = FromBits(bits);
  const float inverse = kQuantCodes / max;
#pragma GCC unroll 2
  for (int h = 0; h < 2; ++h) {
    const int8x16_t half = CodesOf(values + 4 * h, inverse);
    vst1q_s8(codes + 16 * h, half);
    sums.half[h] = vaddlvq_s8(half);
  }
  return max / kQuantCodes;
}

void Quantize(const QuantizeArgs& args) { QuantizeByBlocks(args, QuantizeBlock); }

}  // namespace

void FillNeonQuantize(CpuTable& table) { table.quantize = Quantize; }

}  // namespace quire::kernels
