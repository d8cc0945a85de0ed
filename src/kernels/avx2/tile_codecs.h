// Decoders of tiles of 8 outputs (kernels/tile.h): one block of 32 values of each output as eight
// registers of codes, with the f32 scales and minima of its one or two sub-blocks.
//
// Each codec has  kFormat;  kBlocksEach, blocks of 32 in a block of the type;  kHalves, whether
// sub-blocks are of 16 values;  kHasMin;  kMaxCode, the largest magnitude of a code;  kIsSigned,
// whether codes are signed;  kOffsetBits, log2 of what unsigned codes are too large by, or -1;
// and  Load(codes of the block, scales of the type's block, index of the block in it, out).
#pragma once

#include <cstdint>

#include <immintrin.h>

#include "kernels/quant.h"
#include "kernels/tile.h"
#include "kernels/wide/types.h"

namespace quire::kernels {
namespace {

struct Weights {
  __m256i codes[8];  // group g: values 4g to 4g + 3 of each output
  __m256 scale[2];
  __m256 min[2];
};

QUIRE_INLINE __m256i LoadRow(const std::uint8_t* codes, int row) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + 32 * row));
}

// 8 halves, element k of a scale area.
QUIRE_INLINE __m256 Halves(const std::uint8_t* scales, int k) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(scales + 16 * k)));
}

QUIRE_INLINE __m128i Bytes(const std::uint8_t* scales, int halves, int k) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(scales + 16 * halves + 8 * k));
}

QUIRE_INLINE __m256 UnsignedToFloat(__m128i bytes) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
}
QUIRE_INLINE __m256 SignedToFloat(__m128i bytes) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
}

QUIRE_INLINE __m256 Negate(__m256 x) { return _mm256_xor_ps(x, _mm256_set1_ps(-0.0F)); }

QUIRE_INLINE void LoadNibbles(const std::uint8_t* codes, Weights& out) {
  const __m256i low = _mm256_set1_epi8(15);
#pragma GCC unroll 4
  for (int g = 0; g < 4; ++g) {
    const __m256i row = LoadRow(codes, g);
    out.codes[g] = _mm256_and_si256(row, low);
    out.codes[g + 4] = _mm256_and_si256(_mm256_srli_epi16(row, 4), low);
  }
}

// a | (b & mask)
QUIRE_INLINE __m256i OrMasked(__m256i a, __m256i b, __m256i mask) {
  return _mm256_or_si256(a, _mm256_and_si256(b, mask));
}

// Moves bit `kFrom` of each byte to bit `kTo`; what crosses bytes is masked later.
template <int kFrom, int kTo>
QUIRE_INLINE __m256i MoveBits(__m256i x) {
  if constexpr (kFrom > kTo) {
    return _mm256_srli_epi16(x, kFrom - kTo);
  } else {
    return _mm256_slli_epi16(x, kTo - kFrom);
  }
}

// Adds bit g of `row` to codes of group g, as bit `kTo`.
template <int kTo>
QUIRE_INLINE void AddBits(__m256i row, Weights& out) {
  const __m256i mask = _mm256_set1_epi8(1 << kTo);
  out.codes[0] = OrMasked(out.codes[0], MoveBits<0, kTo>(row), mask);
  out.codes[1] = OrMasked(out.codes[1], MoveBits<1, kTo>(row), mask);
  out.codes[2] = OrMasked(out.codes[2], MoveBits<2, kTo>(row), mask);
  out.codes[3] = OrMasked(out.codes[3], MoveBits<3, kTo>(row), mask);
  out.codes[4] = OrMasked(out.codes[4], MoveBits<4, kTo>(row), mask);
  out.codes[5] = OrMasked(out.codes[5], MoveBits<5, kTo>(row), mask);
  out.codes[6] = OrMasked(out.codes[6], MoveBits<6, kTo>(row), mask);
  out.codes[7] = OrMasked(out.codes[7], MoveBits<7, kTo>(row), mask);
}

// Adds the pairs of two rows to the codes, as bits kTo and kTo + 1.
template <int kTo>
QUIRE_INLINE void AddPairs(const std::uint8_t* rows, Weights& out) {
  const __m256i mask = _mm256_set1_epi8(3 << kTo);
  for (int h = 0; h < 2; ++h) {
    const __m256i row = LoadRow(rows, h);
    __m256i* codes = out.codes + 4 * h;
    codes[0] = OrMasked(codes[0], MoveBits<0, kTo>(row), mask);
    codes[1] = OrMasked(codes[1], MoveBits<2, kTo>(row), mask);
    codes[2] = OrMasked(codes[2], MoveBits<4, kTo>(row), mask);
    codes[3] = OrMasked(codes[3], MoveBits<6, kTo>(row), mask);
  }
}

QUIRE_INLINE void ClearCodes(Weights& out) {
  for (int g = 0; g < 8; ++g) out.codes[g] = _mm256_setzero_si256();
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
  static constexpr bool kIsSigned = false;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int,
                                Weights& out) {
    LoadNibbles(codes, out);
    out.scale[0] = Halves(scales, 0);
  }
};

struct TileQ4One : Tile32 {
  static constexpr TileFormat kFormat = kTileQ4One;
  static constexpr bool kHasMin = true;
  static constexpr int kOffsetBits = -1;
  static constexpr int kMaxCode = 15;
  static constexpr bool kIsSigned = false;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int,
                                Weights& out) {
    LoadNibbles(codes, out);
    out.scale[0] = Halves(scales, 0);
    out.min[0] = Halves(scales, 1);
  }
};

struct TileQ5Zero : Tile32 {
  static constexpr TileFormat kFormat = kTileQ5Zero;
  static constexpr bool kHasMin = false;
  static constexpr int kOffsetBits = 4;
  static constexpr int kMaxCode = 31;
  static constexpr bool kIsSigned = false;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int,
                                Weights& out) {
    LoadNibbles(codes, out);
    AddBits<4>(LoadRow(codes, 4), out);
    out.scale[0] = Halves(scales, 0);
  }
};

struct TileQ5One : Tile32 {
  static constexpr TileFormat kFormat = kTileQ5One;
  static constexpr bool kHasMin = true;
  static constexpr int kOffsetBits = -1;
  static constexpr int kMaxCode = 31;
  static constexpr bool kIsSigned = false;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int,
                                Weights& out) {
    LoadNibbles(codes, out);
    AddBits<4>(LoadRow(codes, 4), out);
    out.scale[0] = Halves(scales, 0);
    out.min[0] = Halves(scales, 1);
  }
};

struct TileQ8Zero : Tile32 {
  static constexpr TileFormat kFormat = kTileQ8Zero;
  static constexpr bool kHasMin = false;
  static constexpr int kOffsetBits = -1;
  static constexpr int kMaxCode = 128;
  static constexpr bool kIsSigned = true;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int,
                                Weights& out) {
#pragma GCC unroll 8
    for (int g = 0; g < 8; ++g) out.codes[g] = LoadRow(codes, g);
    out.scale[0] = Halves(scales, 0);
  }
};

// Nibbles that index a table of signed codes.
QUIRE_INLINE void LoadIndexed(const std::uint8_t* codes, const std::int8_t* table, Weights& out) {
  LoadNibbles(codes, out);
  const __m256i map =
      _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
#pragma GCC unroll 8
  for (int g = 0; g < 8; ++g) out.codes[g] = _mm256_shuffle_epi8(map, out.codes[g]);
}

struct TileIq4Nl : Tile32 {
  static constexpr TileFormat kFormat = kTileQ4Zero;
  static constexpr bool kHasMin = false;
  static constexpr int kOffsetBits = -1;
  static constexpr int kMaxCode = 127;
  static constexpr bool kIsSigned = true;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int,
                                Weights& out) {
    LoadIndexed(codes, kIq4Codes, out);
    out.scale[0] = Halves(scales, 0);
  }
};

struct TileMxfp4 : Tile32 {
  static constexpr TileFormat kFormat = kTileMxfp4;
  static constexpr bool kHasMin = false;
  static constexpr int kOffsetBits = -1;
  static constexpr int kMaxCode = 12;
  static constexpr bool kIsSigned = true;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int,
                                Weights& out) {
    LoadIndexed(codes, kMxfp4Codes, out);
    const __m256i e = _mm256_cvtepu8_epi32(Bytes(scales, 0, 0));
    const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, _mm256_set1_epi32(1)), 23);
    const __m256i tiny = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), e);
    const __m256i is_tiny = _mm256_cmpgt_epi32(_mm256_set1_epi32(2), e);
    out.scale[0] = _mm256_castsi256_ps(_mm256_blendv_epi8(normal, tiny, is_tiny));
  }
};

QUIRE_INLINE void LoadKScales(const std::uint8_t* scales, int k, Weights& out) {
  out.scale[0] = _mm256_mul_ps(Halves(scales, 0), UnsignedToFloat(Bytes(scales, 2, k)));
  out.min[0] = _mm256_mul_ps(Negate(Halves(scales, 1)), UnsignedToFloat(Bytes(scales, 2, 8 + k)));
}

struct TileQ4K : Tile256 {
  static constexpr TileFormat kFormat = kTileQ4K;
  static constexpr bool kHalves = false;
  static constexpr bool kHasMin = true;
  static constexpr int kOffsetBits = -1;
  static constexpr int kMaxCode = 15;
  static constexpr bool kIsSigned = false;
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
  static constexpr bool kIsSigned = false;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int k,
                                Weights& out) {
    LoadNibbles(codes, out);
    AddBits<4>(LoadRow(codes, 4), out);
    LoadKScales(scales, k, out);
  }
};

struct TileIq4Xs : Tile256 {
  static constexpr TileFormat kFormat = kTileIq4Xs;
  static constexpr bool kHalves = false;
  static constexpr bool kHasMin = false;
  static constexpr int kOffsetBits = -1;
  static constexpr int kMaxCode = 127;
  static constexpr bool kIsSigned = true;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int k,
                                Weights& out) {
    LoadIndexed(codes, kIq4Codes, out);
    out.scale[0] = _mm256_mul_ps(Halves(scales, 0), SignedToFloat(Bytes(scales, 1, k)));
  }
};

// Signed scales of the two halves of block k.
QUIRE_INLINE void LoadHalfScales(const std::uint8_t* scales, int k, Weights& out) {
  const __m256 d = Halves(scales, 0);
  for (int h = 0; h < 2; ++h) {
    out.scale[h] = _mm256_mul_ps(d, SignedToFloat(Bytes(scales, 1, 2 * k + h)));
  }
}

struct TileQ6K : Tile256 {
  static constexpr TileFormat kFormat = kTileQ6K;
  static constexpr bool kHalves = true;
  static constexpr bool kHasMin = false;
  static constexpr int kOffsetBits = 5;
  static constexpr int kMaxCode = 63;
  static constexpr bool kIsSigned = false;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int k,
                                Weights& out) {
    LoadNibbles(codes, out);
    AddPairs<4>(codes + 4 * 32, out);
    LoadHalfScales(scales, k, out);
  }
};

struct TileQ3K : Tile256 {
  static constexpr TileFormat kFormat = kTileQ3K;
  static constexpr bool kHalves = true;
  static constexpr bool kHasMin = false;
  static constexpr int kOffsetBits = 2;
  static constexpr int kMaxCode = 7;
  static constexpr bool kIsSigned = false;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int k,
                                Weights& out) {
    ClearCodes(out);
    AddPairs<0>(codes, out);
    AddBits<2>(LoadRow(codes, 2), out);
    LoadHalfScales(scales, k, out);
  }
};

struct TileQ2K : Tile256 {
  static constexpr TileFormat kFormat = kTileQ2K;
  static constexpr bool kHalves = true;
  static constexpr bool kHasMin = true;
  static constexpr int kOffsetBits = -1;
  static constexpr int kMaxCode = 3;
  static constexpr bool kIsSigned = false;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int k,
                                Weights& out) {
    ClearCodes(out);
    AddPairs<0>(codes, out);
    const __m256 d = Halves(scales, 0);
    const __m256 dmin = Negate(Halves(scales, 1));
    const __m128i low = _mm_set1_epi8(15);
    for (int h = 0; h < 2; ++h) {
      const __m128i both = Bytes(scales, 2, 2 * k + h);
      const __m128i mins = _mm_and_si128(_mm_srli_epi16(both, 4), low);
      out.scale[h] = _mm256_mul_ps(d, UnsignedToFloat(_mm_and_si128(both, low)));
      out.min[h] = _mm256_mul_ps(dmin, UnsignedToFloat(mins));
    }
  }
};

}  // namespace
}  // namespace quire::kernels
