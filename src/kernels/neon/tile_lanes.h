// The registers of a tile of 8 outputs (kernels/tile.h) as wide/tile_codecs_body.h sees them:
// Advanced SIMD of 64-bit Arm, two registers for one of AVX2.
#pragma once

#include <cstdint>

#include <arm_neon.h>

#include "kernels/wide/types.h"

namespace quire::kernels {
namespace {

constexpr int kTile = 8;
constexpr bool kUnsignedCodes = false;  // products take signed codes only

// Part 0 is of outputs 0 to 3, part 1 of outputs 4 to 7.
struct TileRow {  // four bytes of each output
  int8x16_t part[2];
};
using TileBytes = uint8x8_t;  // one byte of each output
struct TileFloats {
  float32x4_t part[2];
};
using TileTable = int8x16_t;

QUIRE_INLINE TileRow LoadRow(const std::uint8_t* rows, int row) {
  TileRow out;
#pragma GCC unroll 2
  for (int p = 0; p < 2; ++p) {
    out.part[p] = vreinterpretq_s8_u8(vld1q_u8(rows + 32 * row + 16 * p));
  }
  return out;
}
QUIRE_INLINE TileRow SetRow(int byte) {
  const int8x16_t all = vdupq_n_s8(static_cast<std::int8_t>(byte));
  return {{all, all}};
}

// Of each byte.
template <int kBits>
QUIRE_INLINE int8x16_t ShiftRight(int8x16_t x) {
  return vreinterpretq_s8_u8(vshrq_n_u8(vreinterpretq_u8_s8(x), kBits));
}
template <int kBits>
QUIRE_INLINE TileRow ShiftRight(TileRow x) {
  return {{ShiftRight<kBits>(x.part[0]), ShiftRight<kBits>(x.part[1])}};
}
template <int kBits>
QUIRE_INLINE TileRow ShiftLeft(TileRow x) {
  return {{vshlq_n_s8(x.part[0], kBits), vshlq_n_s8(x.part[1], kBits)}};
}

// `codes`, which are 0 under the mask, with the bits of `x` there.
QUIRE_INLINE TileRow Insert(TileRow codes, TileRow x, TileRow mask) {
  return {{vbslq_s8(vreinterpretq_u8_s8(mask.part[0]), x.part[0], codes.part[0]),
           vbslq_s8(vreinterpretq_u8_s8(mask.part[1]), x.part[1], codes.part[1])}};
}

QUIRE_INLINE TileRow LowNibbles(TileRow x) {
  const int8x16_t low = vdupq_n_s8(15);
  return {{vandq_s8(x.part[0], low), vandq_s8(x.part[1], low)}};
}
QUIRE_INLINE TileRow HighNibbles(TileRow x) { return ShiftRight<4>(x); }

QUIRE_INLINE TileTable LoadTable(const std::uint8_t* table) {
  return vreinterpretq_s8_u8(vld1q_u8(table));
}
QUIRE_INLINE TileRow LookUp(TileTable table, TileRow indices) {
  return {{vqtbl1q_s8(table, vreinterpretq_u8_s8(indices.part[0])),
           vqtbl1q_s8(table, vreinterpretq_u8_s8(indices.part[1]))}};
}

QUIRE_INLINE TileBytes LoadBytes(const std::uint8_t* bytes) { return vld1_u8(bytes); }
QUIRE_INLINE TileBytes LowNibbles(TileBytes x) { return vand_u8(x, vdup_n_u8(15)); }
QUIRE_INLINE TileBytes HighNibbles(TileBytes x) { return vshr_n_u8(x, 4); }

QUIRE_INLINE float32x4_t HalvesToFloat(uint8x8_t x) { return vcvt_f32_f16(vreinterpret_f16_u8(x)); }
QUIRE_INLINE TileFloats LoadHalves(const std::uint8_t* halves) {
  return {{HalvesToFloat(vld1_u8(halves)), HalvesToFloat(vld1_u8(halves + 8))}};
}
QUIRE_INLINE TileFloats UnsignedToFloat(TileBytes x) {
  const uint16x8_t wide = vmovl_u8(x);
  return {{vcvtq_f32_u32(vmovl_u16(vget_low_u16(wide))), vcvtq_f32_u32(vmovl_high_u16(wide))}};
}
QUIRE_INLINE TileFloats SignedToFloat(TileBytes x) {
  const int16x8_t wide = vmovl_s8(vreinterpret_s8_u8(x));
  return {{vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide))), vcvtq_f32_s32(vmovl_high_s16(wide))}};
}
QUIRE_INLINE TileFloats Multiply(TileFloats a, TileFloats b) {
  return {{vmulq_f32(a.part[0], b.part[0]), vmulq_f32(a.part[1], b.part[1])}};
}
QUIRE_INLINE TileFloats Negate(TileFloats x) {
  return {{vnegq_f32(x.part[0]), vnegq_f32(x.part[1])}};
}

// 2^(x - 128), which has no exponent's bits where x is 0 or 1.
QUIRE_INLINE float32x4_t PowerOf(uint32x4_t x) {
  const uint32x4_t normal = vshlq_n_u32(vsubq_u32(x, vdupq_n_u32(1)), 23);
  const uint32x4_t tiny = vshlq_u32(vdupq_n_u32(0x00200000), vreinterpretq_s32_u32(x));
  const uint32x4_t is_tiny = vcltq_u32(x, vdupq_n_u32(2));
  return vreinterpretq_f32_u32(vbslq_u32(is_tiny, tiny, normal));
}
QUIRE_INLINE TileFloats PowerOf(TileBytes x) {
  const uint16x8_t wide = vmovl_u8(x);
  return {{PowerOf(vmovl_u16(vget_low_u16(wide))), PowerOf(vmovl_high_u16(wide))}};
}

}  // namespace
}  // namespace quire::kernels
