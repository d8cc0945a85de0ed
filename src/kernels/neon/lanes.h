// A register of f32 lanes as the code in kernels/wide/ sees it: Advanced SIMD of 64-bit Arm.
#pragma once

#include <arm_neon.h>

#include "kernels/wide/types.h"

namespace quire::kernels {
namespace {

using Floats = float32x4_t;
using Mask = uint32x4_t;  // all bits of a lane on or off
constexpr int kWidth = 4;
constexpr int kRegisters = 32;

// The first `count` lanes; all of them from kWidth up.
QUIRE_INLINE Mask First(std::int64_t count) {
  const std::uint32_t on = count >= kWidth ? kWidth : static_cast<std::uint32_t>(count);
  const uint32x4_t lane = {0, 1, 2, 3};
  return vcltq_u32(lane, vdupq_n_u32(on));
}
QUIRE_INLINE int CountOf(Mask mask) { return static_cast<int>(vaddvq_u32(vshrq_n_u32(mask, 31))); }

QUIRE_INLINE Floats Zero() { return vdupq_n_f32(0.0F); }
QUIRE_INLINE Floats Set(float x) { return vdupq_n_f32(x); }

QUIRE_INLINE Floats WidenF16(uint16x4_t x) { return vcvt_f32_f16(vreinterpret_f16_u16(x)); }
QUIRE_INLINE Floats WidenBf16(uint16x4_t x) { return vreinterpretq_f32_u32(vshll_n_u16(x, 16)); }
QUIRE_INLINE const std::uint16_t* Words(const F16Bits* x) {
  return reinterpret_cast<const std::uint16_t*>(x);
}
QUIRE_INLINE const std::uint16_t* Words(const Bf16Bits* x) {
  return reinterpret_cast<const std::uint16_t*>(x);
}
QUIRE_INLINE uint16x4_t LoadHalves(const std::uint16_t* x, Mask mask) {
  std::uint16_t values[kWidth] = {};
  const int on = CountOf(mask);
  for (int i = 0; i < on; ++i) values[i] = x[i];
  return vld1_u16(values);
}

QUIRE_INLINE Floats Load(const float* x) { return vld1q_f32(x); }
QUIRE_INLINE Floats Load(const F16Bits* x) { return WidenF16(vld1_u16(Words(x))); }
QUIRE_INLINE Floats Load(const Bf16Bits* x) { return WidenBf16(vld1_u16(Words(x))); }
QUIRE_INLINE Floats Load(const std::int8_t* x) {
  std::int32_t four;
  __builtin_memcpy(&four, x, sizeof four);
  const int8x8_t codes = vreinterpret_s8_s32(vdup_n_s32(four));
  return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(codes))));
}

// Lanes that are off are 0 and not read. There are no masked accesses: a register's worth is small.
QUIRE_INLINE Floats Load(const float* x, Mask mask) {
  float values[kWidth] = {};
  const int on = CountOf(mask);
  for (int i = 0; i < on; ++i) values[i] = x[i];
  return vld1q_f32(values);
}
QUIRE_INLINE Floats Load(const F16Bits* x, Mask mask) {
  return WidenF16(LoadHalves(Words(x), mask));
}
QUIRE_INLINE Floats Load(const Bf16Bits* x, Mask mask) {
  return WidenBf16(LoadHalves(Words(x), mask));
}
QUIRE_INLINE Floats Load(const std::int8_t* x, Mask mask) {
  std::int8_t values[kWidth] = {};
  const int on = CountOf(mask);
  for (int i = 0; i < on; ++i) values[i] = x[i];
  return Load(values);
}
QUIRE_INLINE Floats Load(const float* x, AllLanes) { return Load(x); }
QUIRE_INLINE Floats Load(const F16Bits* x, AllLanes) { return Load(x); }
QUIRE_INLINE Floats Load(const Bf16Bits* x, AllLanes) { return Load(x); }
QUIRE_INLINE Floats Load(const std::int8_t* x, AllLanes) { return Load(x); }

QUIRE_INLINE void KeepLoaded(Floats&) {}  // nothing is gained

QUIRE_INLINE void Store(float* out, Floats x) { vst1q_f32(out, x); }
QUIRE_INLINE void Store(float* out, Floats x, Mask mask) {
  float values[kWidth];
  vst1q_f32(values, x);
  const int on = CountOf(mask);
  for (int i = 0; i < on; ++i) out[i] = values[i];
}
QUIRE_INLINE void Store(float* out, Floats x, AllLanes) { Store(out, x); }

QUIRE_INLINE Floats Add(Floats a, Floats b) { return vaddq_f32(a, b); }
QUIRE_INLINE Floats Subtract(Floats a, Floats b) { return vsubq_f32(a, b); }
QUIRE_INLINE Floats Multiply(Floats a, Floats b) { return vmulq_f32(a, b); }
QUIRE_INLINE Floats Divide(Floats a, Floats b) { return vdivq_f32(a, b); }
// a * b + c, rounded once.
QUIRE_INLINE Floats Fused(Floats a, Floats b, Floats c) { return vfmaq_f32(c, a, b); }
QUIRE_INLINE Floats RoundToEven(Floats x) { return vrndnq_f32(x); }

// Ordered: false where either is NaN.
QUIRE_INLINE Mask IsGreater(Floats a, Floats b) { return vcgtq_f32(a, b); }
QUIRE_INLINE Mask IsEqual(Floats a, Floats b) { return vceqq_f32(a, b); }
QUIRE_INLINE Floats Select(Mask mask, Floats yes, Floats no) { return vbslq_f32(mask, yes, no); }
QUIRE_INLINE Floats Select(AllLanes, Floats yes, Floats) { return yes; }
QUIRE_INLINE Floats ZeroWhere(Mask mask, Floats x) { return Select(mask, Zero(), x); }
// a > b ? a : b, so b where either is NaN: unlike the processor's own maximum.
QUIRE_INLINE Floats Larger(Floats a, Floats b) { return Select(IsGreater(a, b), a, b); }
// Index of the first lane that is on, or -1.
QUIRE_INLINE int FirstSet(Mask mask) {
  const uint32x4_t lane = {0, 1, 2, 3};
  const std::uint32_t first = vminvq_u32(vbslq_u32(mask, lane, vdupq_n_u32(kWidth)));
  return first == kWidth ? -1 : static_cast<int>(first);
}

// x * 2^n for whole n in [-126, 127].
QUIRE_INLINE Floats ScaleByPower(Floats x, Floats n) {
  const int32x4_t exponent = vaddq_s32(vcvtq_s32_f32(n), vdupq_n_s32(127));
  return vmulq_f32(x, vreinterpretq_f32_s32(vshlq_n_s32(exponent, 23)));
}

// kWidth / 2 values, each twice.
QUIRE_INLINE Floats LoadTwice(const float* x) {
  const float32x2_t two = vld1_f32(x);
  return vcombine_f32(vdup_lane_f32(two, 0), vdup_lane_f32(two, 1));
}
// Lanes 2i and 2i + 1 exchanged.
QUIRE_INLINE Floats SwapNeighbours(Floats x) { return vrev64q_f32(x); }
// Lanes 0, 2, 4 and so on with their sign changed.
QUIRE_INLINE Floats NegateEven(Floats x) {
  const uint32x4_t signs = {0x80000000U, 0, 0x80000000U, 0};
  return vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(x), signs));
}

// Folds the kLanes lanes of kLanes / kWidth registers by halves.
QUIRE_INLINE float FoldHalves(const Floats* lanes) {
  const float32x4_t four = vaddq_f32(vaddq_f32(lanes[0], lanes[2]), vaddq_f32(lanes[1], lanes[3]));
  const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

// NaN is not among the lanes.
QUIRE_INLINE float LargestLane(Floats x) { return vmaxvq_f32(x); }

}  // namespace
}  // namespace quire::kernels
