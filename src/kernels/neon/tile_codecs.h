// Decoders of tiles of 8 outputs (kernels/tile.h): one block of 32 values of each output as eight
// pairs of registers of codes, with the f32 scales and minima of its one or two sub-blocks.
//
// Each codec has  kFormat;  kBlocksEach, blocks of 32 in a block of the type;  kHalves, whether
// sub-blocks are of 16 values;  kHasMin;  kMaxCode, the largest magnitude of a code;  kOffsetBits,
// log2 of what codes are too large by, or -1;  and  Load(codes of the block, scales of the type's
// block, index of the block in it, out).  Codes fit a signed byte: nothing here multiplies unsigned
// ones.
#pragma once

#include <cstdint>

#include <arm_neon.h>

#include "kernels/quant.h"
#include "kernels/tile.h"
#include "kernels/wide/types.h"

namespace quire::kernels {
namespace {

constexpr int kTile = 8;

// The second index is a register's: outputs 0 to 3, and 4 to 7.
struct Weights {
  int8x16_t codes[8][2];  // group g: values 4g to 4g + 3 of each output
  float32x4_t scale[2][2];
  float32x4_t min[2][2];
};

QUIRE_INLINE uint8x16_t LoadRow(const std::uint8_t* codes, int row, int part) {
  return vld1q_u8(codes + 32 * row + 16 * part);
}

// 4 of the 8 halves of element k of a scale area.
QUIRE_INLINE float32x4_t Halves(const std::uint8_t* scales, int k, int part) {
  const uint8x8_t bytes = vld1_u8(scales + 16 * k + 8 * part);
  return vcvt_f32_f16(vreinterpret_f16_u8(bytes));
}

QUIRE_INLINE uint8x8_t Bytes(const std::uint8_t* scales, int halves, int k) {
  return vld1_u8(scales + 16 * halves + 8 * k);
}

QUIRE_INLINE void Widen(uint8x8_t bytes, uint32x4_t* out) {
  const uint16x8_t wide = vmovl_u8(bytes);
  out[0] = vmovl_u16(vget_low_u16(wide));
  out[1] = vmovl_high_u16(wide);
}
// out = factor * bytes, of 8 outputs.
QUIRE_INLINE void MultiplyUnsigned(const float32x4_t* factor, uint8x8_t bytes, float32x4_t* out) {
  uint32x4_t wide[2];
  Widen(bytes, wide);
  for (int p = 0; p < 2; ++p) out[p] = vmulq_f32(factor[p], vcvtq_f32_u32(wide[p]));
}
QUIRE_INLINE void MultiplySigned(const float32x4_t* factor, uint8x8_t bytes, float32x4_t* out) {
  const int16x8_t wide = vmovl_s8(vreinterpret_s8_u8(bytes));
  out[0] = vmulq_f32(factor[0], vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide))));
  out[1] = vmulq_f32(factor[1], vcvtq_f32_s32(vmovl_high_s16(wide)));
}

QUIRE_INLINE void LoadScale(const std::uint8_t* scales, Weights& out) {
  for (int p = 0; p < 2; ++p) out.scale[0][p] = Halves(scales, 0, p);
}
QUIRE_INLINE void LoadScaleAndMin(const std::uint8_t* scales, Weights& out) {
  LoadScale(scales, out);
  for (int p = 0; p < 2; ++p) out.min[0][p] = Halves(scales, 1, p);
}

QUIRE_INLINE void LoadNibbles(const std::uint8_t* codes, Weights& out) {
  const uint8x16_t low = vdupq_n_u8(15);
#pragma GCC unroll 4
  for (int g = 0; g < 4; ++g) {
#pragma GCC unroll 2
    for (int p = 0; p < 2; ++p) {
      const uint8x16_t row = LoadRow(codes, g, p);
      out.codes[g][p] = vreinterpretq_s8_u8(vandq_u8(row, low));
      out.codes[g + 4][p] = vreinterpretq_s8_u8(vshrq_n_u8(row, 4));
    }
  }
}

// Moves bit `kFrom` of each byte to bit `kTo`.
template <int kFrom, int kTo>
QUIRE_INLINE uint8x16_t MoveBits(uint8x16_t x) {
  if constexpr (kFrom > kTo) {
    return vshrq_n_u8(x, kFrom - kTo);
  } else {
    return vshlq_n_u8(x, kTo - kFrom);
  }
}

// `code` with its bits of `mask` from `row`, where the lowest of them stands at kFrom.
template <int kFrom, int kTo>
QUIRE_INLINE int8x16_t Insert(int8x16_t code, uint8x16_t row, uint8x16_t mask) {
  const int8x16_t moved = vreinterpretq_s8_u8(MoveBits<kFrom, kTo>(row));
  return vbslq_s8(mask, moved, code);
}

// Puts bit g of a row to codes of group g, as bit `kTo`.
template <int kTo>
QUIRE_INLINE void AddBits(const std::uint8_t* codes, int row, Weights& out) {
  const uint8x16_t mask = vdupq_n_u8(1 << kTo);
#pragma GCC unroll 2
  for (int p = 0; p < 2; ++p) {
    const uint8x16_t bits = LoadRow(codes, row, p);
    out.codes[0][p] = Insert<0, kTo>(out.codes[0][p], bits, mask);
    out.codes[1][p] = Insert<1, kTo>(out.codes[1][p], bits, mask);
    out.codes[2][p] = Insert<2, kTo>(out.codes[2][p], bits, mask);
    out.codes[3][p] = Insert<3, kTo>(out.codes[3][p], bits, mask);
    out.codes[4][p] = Insert<4, kTo>(out.codes[4][p], bits, mask);
    out.codes[5][p] = Insert<5, kTo>(out.codes[5][p], bits, mask);
    out.codes[6][p] = Insert<6, kTo>(out.codes[6][p], bits, mask);
    out.codes[7][p] = Insert<7, kTo>(out.codes[7][p], bits, mask);
  }
}

// Puts the pairs of two rows, from `row` on, to the codes, as bits kTo and kTo + 1.
template <int kTo>
QUIRE_INLINE void AddPairs(const std::uint8_t* codes, int row, Weights& out) {
  const uint8x16_t mask = vdupq_n_u8(3 << kTo);
#pragma GCC unroll 2
  for (int h = 0; h < 2; ++h) {
#pragma GCC unroll 2
    for (int p = 0; p < 2; ++p) {
      const uint8x16_t pairs = LoadRow(codes, row + h, p);
      int8x16_t(*group)[2] = out.codes + 4 * h;
      group[0][p] = Insert<0, kTo>(group[0][p], pairs, mask);
      group[1][p] = Insert<2, kTo>(group[1][p], pairs, mask);
      group[2][p] = Insert<4, kTo>(group[2][p], pairs, mask);
      group[3][p] = Insert<6, kTo>(group[3][p], pairs, mask);
    }
  }
}

QUIRE_INLINE void ClearCodes(Weights& out) {
  for (int g = 0; g < 8; ++g) {
    for (int p = 0; p < 2; ++p) out.codes[g][p] = vdupq_n_s8(0);
  }
}

struct Tile32 {
  static constexpr int kBlocksEach = 1;
  static constexpr bool kHalves = false;
};
struct Tile256 {
  static constexpr int kBlocksEach = 8;
};

struct TileQ4Zero : Tile32 {
  static constexpr TileFormat kFormat = kTileQ4Zero;
  static constexpr bool kHasMin = false;
  static constexpr int kOffsetBits = 3;
  static constexpr int kMaxCode = 15;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int,
                                Weights& out) {
    LoadNibbles(codes, out);
    LoadScale(scales, out);
  }
};

struct TileQ4One : Tile32 {
  static constexpr TileFormat kFormat = kTileQ4One;
  static constexpr bool kHasMin = true;
  static constexpr int kOffsetBits = -1;
  static constexpr int kMaxCode = 15;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int,
                                Weights& out) {
    LoadNibbles(codes, out);
    LoadScaleAndMin(scales, out);
  }
};

struct TileQ5Zero : Tile32 {
  static constexpr TileFormat kFormat = kTileQ5Zero;
  static constexpr bool kHasMin = false;
  static constexpr int kOffsetBits = 4;
  static constexpr int kMaxCode = 31;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int,
                                Weights& out) {
    LoadNibbles(codes, out);
    AddBits<4>(codes, 4, out);
    LoadScale(scales, out);
  }
};

struct TileQ5One : Tile32 {
  static constexpr TileFormat kFormat = kTileQ5One;
  static constexpr bool kHasMin = true;
  static constexpr int kOffsetBits = -1;
  static constexpr int kMaxCode = 31;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int,
                                Weights& out) {
    LoadNibbles(codes, out);
    AddBits<4>(codes, 4, out);
    LoadScaleAndMin(scales, out);
  }
};

struct TileQ8Zero : Tile32 {
  static constexpr TileFormat kFormat = kTileQ8Zero;
  static constexpr bool kHasMin = false;
  static constexpr int kOffsetBits = -1;
  static constexpr int kMaxCode = 128;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int,
                                Weights& out) {
#pragma GCC unroll 8
    for (int g = 0; g < 8; ++g) {
#pragma GCC unroll 2
      for (int p = 0; p < 2; ++p) {
        out.codes[g][p] = vreinterpretq_s8_u8(LoadRow(codes, g, p));
      }
    }
    LoadScale(scales, out);
  }
};

// Nibbles that index a table of signed codes.
QUIRE_INLINE void LoadIndexed(const std::uint8_t* codes, const std::int8_t* table, Weights& out) {
  LoadNibbles(codes, out);
  const int8x16_t map = vld1q_s8(table);
#pragma GCC unroll 8
  for (int g = 0; g < 8; ++g) {
#pragma GCC unroll 2
    for (int p = 0; p < 2; ++p) {
      out.codes[g][p] = vqtbl1q_s8(map, vreinterpretq_u8_s8(out.codes[g][p]));
    }
  }
}

struct TileIq4Nl : Tile32 {
  static constexpr TileFormat kFormat = kTileQ4Zero;
  static constexpr bool kHasMin = false;
  static constexpr int kOffsetBits = -1;
  static constexpr int kMaxCode = 127;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int,
                                Weights& out) {
    LoadIndexed(codes, kIq4Codes, out);
    LoadScale(scales, out);
  }
};

struct TileMxfp4 : Tile32 {
  static constexpr TileFormat kFormat = kTileMxfp4;
  static constexpr bool kHasMin = false;
  static constexpr int kOffsetBits = -1;
  static constexpr int kMaxCode = 12;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int,
                                Weights& out) {
    LoadIndexed(codes, kMxfp4Codes, out);
    uint32x4_t exponent[2];
    Widen(Bytes(scales, 0, 0), exponent);
    for (int p = 0; p < 2; ++p) {
      const uint32x4_t e = exponent[p];
      const uint32x4_t normal = vshlq_n_u32(vsubq_u32(e, vdupq_n_u32(1)), 23);
      const uint32x4_t tiny = vshlq_u32(vdupq_n_u32(0x00200000), vreinterpretq_s32_u32(e));
      const uint32x4_t is_tiny = vcltq_u32(e, vdupq_n_u32(2));
      out.scale[0][p] = vreinterpretq_f32_u32(vbslq_u32(is_tiny, tiny, normal));
    }
  }
};

QUIRE_INLINE void LoadKScales(const std::uint8_t* scales, int k, Weights& out) {
  float32x4_t d[2], minus_dmin[2];
  for (int p = 0; p < 2; ++p) {
    d[p] = Halves(scales, 0, p);
    minus_dmin[p] = vnegq_f32(Halves(scales, 1, p));
  }
  MultiplyUnsigned(d, Bytes(scales, 2, k), out.scale[0]);
  MultiplyUnsigned(minus_dmin, Bytes(scales, 2, 8 + k), out.min[0]);
}

struct TileQ4K : Tile256 {
  static constexpr TileFormat kFormat = kTileQ4K;
  static constexpr bool kHalves = false;
  static constexpr bool kHasMin = true;
  static constexpr int kOffsetBits = -1;
  static constexpr int kMaxCode = 15;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int k,
                                Weights& out) {
    LoadNibbles(codes, out);
    LoadKScales(scales, k, out);
  }
};

struct TileQ5K : Tile256 {
  static constexpr TileFormat kFormat = kTileQ5K;
  static constexpr bool kHalves = false;
  static constexpr bool kHasMin = true;
  static constexpr int kOffsetBits = -1;
  static constexpr int kMaxCode = 31;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int k,
                                Weights& out) {
    LoadNibbles(codes, out);
    AddBits<4>(codes, 4, out);
    LoadKScales(scales, k, out);
  }
};

struct TileIq4Xs : Tile256 {
  static constexpr TileFormat kFormat = kTileIq4Xs;
  static constexpr bool kHalves = false;
  static constexpr bool kHasMin = false;
  static constexpr int kOffsetBits = -1;
  static constexpr int kMaxCode = 127;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int k,
                                Weights& out) {
    LoadIndexed(codes, kIq4Codes, out);
    const float32x4_t d[2] = {Halves(scales, 0, 0), Halves(scales, 0, 1)};
    MultiplySigned(d, Bytes(scales, 1, k), out.scale[0]);
  }
};

// Signed scales of the two halves of block k.
QUIRE_INLINE void LoadHalfScales(const std::uint8_t* scales, int k, Weights& out) {
  const float32x4_t d[2] = {Halves(scales, 0, 0), Halves(scales, 0, 1)};
  for (int h = 0; h < 2; ++h) MultiplySigned(d, Bytes(scales, 1, 2 * k + h), out.scale[h]);
}

struct TileQ6K : Tile256 {
  static constexpr TileFormat kFormat = kTileQ6K;
  static constexpr bool kHalves = true;
  static constexpr bool kHasMin = false;
  static constexpr int kOffsetBits = 5;
  static constexpr int kMaxCode = 63;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int k,
                                Weights& out) {
    LoadNibbles(codes, out);
    AddPairs<4>(codes, 4, out);
    LoadHalfScales(scales, k, out);
  }
};

struct TileQ3K : Tile256 {
  static constexpr TileFormat kFormat = kTileQ3K;
  static constexpr bool kHalves = true;
  static constexpr bool kHasMin = false;
  static constexpr int kOffsetBits = 2;
  static constexpr int kMaxCode = 7;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int k,
                                Weights& out) {
    ClearCodes(out);
    AddPairs<0>(codes, 0, out);
    AddBits<2>(codes, 2, out);
    LoadHalfScales(scales, k, out);
  }
};

struct TileQ2K : Tile256 {
  static constexpr TileFormat kFormat = kTileQ2K;
  static constexpr bool kHalves = true;
  static constexpr bool kHasMin = true;
  static constexpr int kOffsetBits = -1;
  static constexpr int kMaxCode = 3;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int k,
                                Weights& out) {
    ClearCodes(out);
    AddPairs<0>(codes, 0, out);
    float32x4_t d[2], minus_dmin[2];
    for (int p = 0; p < 2; ++p) {
      d[p] = Halves(scales, 0, p);
      minus_dmin[p] = vnegq_f32(Halves(scales, 1, p));
    }
    for (int h = 0; h < 2; ++h) {
      const uint8x8_t both = Bytes(scales, 2, 2 * k + h);
      MultiplyUnsigned(d, vand_u8(both, vdup_n_u8(15)), out.scale[h]);
      MultiplyUnsigned(minus_dmin, vshr_n_u8(both, 4), out.min[h]);
    }
  }
};

}  // namespace
}  // namespace quire::kernels
