// Decoders of tiles (kernels/tile.h), over an ISA's tile_lanes.h, which is included first: one
// block of 32 values of each output as eight rows of codes, with the f32 scales and minima of its
// one or two sub-blocks.
//
// A codec is put together of how the codes of its type are stored and how its scales are. Each has
// kFormat;  kMaxCode, the largest magnitude of a code where none is made unsigned;  kIsSigned,
// whether codes are signed;  kOffsetBits, log2 of what unsigned codes are too large by, or
// kNoOffset;  kBlocksEach, blocks of 32 in a block of the type;  kHalves, whether sub-blocks are of
// 16 values;  kHasMin;  and  Load(codes of the block, scales of the type's block, index of the
// block in it, out).
#pragma once

#include <cstdint>

#include "kernels/quant.h"
#include "kernels/tile.h"
#include "kernels/wide/types.h"

namespace quire::kernels {
namespace {

struct Weights {
  TileRow codes[8];  // group g: values 4g to 4g + 3 of each output
  TileFloats scale[2];
  TileFloats min[2];
};

// How codes are stored: the words are those of kernels/tile.h.

constexpr int kNoOffset = -1;

template <int kMax, int kOffset>
struct UnsignedCodes {
  static constexpr int kMaxCode = kMax;
  static constexpr bool kIsSigned = false;
  static constexpr int kOffsetBits = kOffset;
};

// Where products want unsigned codes, 2^kBits is added to them.
template <int kMax, int kBits>
struct SignedCodes {
  static constexpr int kMaxCode = kMax;
  static constexpr bool kIsSigned = !kUnsignedCodes;
  static constexpr int kOffsetBits = kUnsignedCodes ? kBits : kNoOffset;
};

// Moves bit kFrom of each byte, and those above it, to bit kTo; what crosses bytes is masked later.
template <int kFrom, int kTo>
QUIRE_INLINE TileRow MoveBits(TileRow x) {
  if constexpr (kFrom > kTo) {
    return ShiftRight<kFrom - kTo>(x);
  } else {
    return ShiftLeft<kTo - kFrom>(x);
  }
}

QUIRE_INLINE void LoadNibbles(const std::uint8_t* rows, Weights& out) {
#pragma GCC unroll 4
  for (int g = 0; g < 4; ++g) {
    const TileRow row = LoadRow(rows, g);
    out.codes[g] = LowNibbles(row);
    out.codes[g + 4] = HighNibbles(row);
  }
}

QUIRE_INLINE void ClearCodes(Weights& out) {
  for (int g = 0; g < 8; ++g) out.codes[g] = SetRow(0);
}

// Bit g of each byte becomes bit kTo of the codes of group g.
template <int kTo>
QUIRE_INLINE void AddBits(TileRow row, Weights& out) {
  const TileRow mask = SetRow(1 << kTo);
  out.codes[0] = Insert(out.codes[0], MoveBits<0, kTo>(row), mask);
  out.codes[1] = Insert(out.codes[1], MoveBits<1, kTo>(row), mask);
  out.codes[2] = Insert(out.codes[2], MoveBits<2, kTo>(row), mask);
  out.codes[3] = Insert(out.codes[3], MoveBits<3, kTo>(row), mask);
  out.codes[4] = Insert(out.codes[4], MoveBits<4, kTo>(row), mask);
  out.codes[5] = Insert(out.codes[5], MoveBits<5, kTo>(row), mask);
  out.codes[6] = Insert(out.codes[6], MoveBits<6, kTo>(row), mask);
  out.codes[7] = Insert(out.codes[7], MoveBits<7, kTo>(row), mask);
}

// Of two rows from `first` on: pair k of row h becomes bits kTo and kTo + 1 of the codes of group
// 4h + k.
template <int kTo>
QUIRE_INLINE void AddPairs(const std::uint8_t* rows, int first, Weights& out) {
  const TileRow mask = SetRow(3 << kTo);
#pragma GCC unroll 2
  for (int h = 0; h < 2; ++h) {
    const TileRow row = LoadRow(rows, first + h);
    TileRow* codes = out.codes + 4 * h;
    codes[0] = Insert(codes[0], MoveBits<0, kTo>(row), mask);
    codes[1] = Insert(codes[1], MoveBits<2, kTo>(row), mask);
    codes[2] = Insert(codes[2], MoveBits<4, kTo>(row), mask);
    codes[3] = Insert(codes[3], MoveBits<6, kTo>(row), mask);
  }
}

// Codes of 4 bits.
template <int kOffset>
struct Nibbles : UnsignedCodes<15, kOffset> {
  QUIRE_INLINE static void LoadCodes(const std::uint8_t* rows, Weights& out) {
    LoadNibbles(rows, out);
  }
};

// Codes of 5 bits: bit 4 comes from a row of bits.
template <int kOffset>
struct NibblesAndBits : UnsignedCodes<31, kOffset> {
  QUIRE_INLINE static void LoadCodes(const std::uint8_t* rows, Weights& out) {
    LoadNibbles(rows, out);
    AddBits<4>(LoadRow(rows, 4), out);
  }
};

// Codes of 6 bits: bits 4 and 5 come from rows of pairs.
struct NibblesAndPairs : UnsignedCodes<63, 5> {
  QUIRE_INLINE static void LoadCodes(const std::uint8_t* rows, Weights& out) {
    LoadNibbles(rows, out);
    AddPairs<4>(rows, 4, out);
  }
};

// Codes of 2 bits.
struct Pairs : UnsignedCodes<3, kNoOffset> {
  QUIRE_INLINE static void LoadCodes(const std::uint8_t* rows, Weights& out) {
    ClearCodes(out);
    AddPairs<0>(rows, 0, out);
  }
};

// Codes of 3 bits: bit 2 comes from a row of bits.
struct PairsAndBits : UnsignedCodes<7, 2> {
  QUIRE_INLINE static void LoadCodes(const std::uint8_t* rows, Weights& out) {
    ClearCodes(out);
    AddPairs<0>(rows, 0, out);
    AddBits<2>(LoadRow(rows, 2), out);
  }
};

// Codes of 8 bits, stored as products want them.
struct Bytes : SignedCodes<128, 7> {
  QUIRE_INLINE static void LoadCodes(const std::uint8_t* rows, Weights& out) {
#pragma GCC unroll 8
    for (int g = 0; g < 8; ++g) out.codes[g] = LoadRow(rows, g);
  }
};

// Nibbles that index a table of signed codes; what products want added to codes is added to it.
template <const std::int8_t (&kCodes)[16], int kMax, int kBits>
struct Indices : SignedCodes<kMax, kBits> {
  struct Table {
    std::uint8_t codes[16];
  };
  static constexpr Table MakeTable() {
    Table table = {};
    for (int i = 0; i < 16; ++i) {
      table.codes[i] = static_cast<std::uint8_t>(kCodes[i] + (kUnsignedCodes ? 1 << kBits : 0));
    }
    return table;
  }
  static constexpr Table kTable = MakeTable();

  QUIRE_INLINE static void LoadCodes(const std::uint8_t* rows, Weights& out) {
    LoadNibbles(rows, out);
    const TileTable table = LoadTable(kTable.codes);
#pragma GCC unroll 8
    for (int g = 0; g < 8; ++g) out.codes[g] = LookUp(table, out.codes[g]);
  }
};

// How scales are stored, and with how many values they go.

// Of types whose blocks are of 32 values, and of 256.
struct Of32 {
  static constexpr int kBlocksEach = 1;
  static constexpr bool kHalves = false;
};
struct Of256 {
  static constexpr int kBlocksEach = 8;
};

// Element k of a scale area, which begins with elements of f16.
QUIRE_INLINE TileFloats F16At(const std::uint8_t* scales, int k) {
  return LoadHalves(scales + 2 * kTile * k);
}
// Element k of those that follow the first `halves`, and are bytes.
QUIRE_INLINE TileBytes BytesAfter(int halves, const std::uint8_t* scales, int k) {
  return LoadBytes(scales + 2 * kTile * halves + kTile * k);
}

// Q4_0, IQ4_NL, Q5_0, Q8_0: f16.
struct Scale : Of32 {
  static constexpr bool kHasMin = false;
  QUIRE_INLINE static void LoadScales(const std::uint8_t* scales, int, Weights& out) {
    out.scale[0] = F16At(scales, 0);
  }
};

// Q4_1, Q5_1: f16, and so are minima.
struct ScaleAndMin : Of32 {
  static constexpr bool kHasMin = true;
  QUIRE_INLINE static void LoadScales(const std::uint8_t* scales, int, Weights& out) {
    out.scale[0] = F16At(scales, 0);
    out.min[0] = F16At(scales, 1);
  }
};

// MXFP4: exponents.
struct PowerOfTwo : Of32 {
  static constexpr bool kHasMin = false;
  QUIRE_INLINE static void LoadScales(const std::uint8_t* scales, int, Weights& out) {
    out.scale[0] = PowerOf(LoadBytes(scales));
  }
};

// Q4_K, Q5_K: bytes, all scales and then all minima, each kind times an f16 of its own.
struct ByteScalesAndMins : Of256 {
  static constexpr bool kHalves = false;
  static constexpr bool kHasMin = true;
  QUIRE_INLINE static void LoadScales(const std::uint8_t* scales, int k, Weights& out) {
    const TileFloats minus_dmin = Negate(F16At(scales, 1));
    out.scale[0] = Multiply(F16At(scales, 0), UnsignedToFloat(BytesAfter(2, scales, k)));
    out.min[0] = Multiply(minus_dmin, UnsignedToFloat(BytesAfter(2, scales, 8 + k)));
  }
};

// IQ4_XS: signed bytes times an f16.
struct SignedByteScales : Of256 {
  static constexpr bool kHalves = false;
  static constexpr bool kHasMin = false;
  QUIRE_INLINE static void LoadScales(const std::uint8_t* scales, int k, Weights& out) {
    out.scale[0] = Multiply(F16At(scales, 0), SignedToFloat(BytesAfter(1, scales, k)));
  }
};

// Q3_K, Q6_K: signed bytes times an f16, one for 16 values.
struct SignedByteScalesOf16 : Of256 {
  static constexpr bool kHalves = true;
  static constexpr bool kHasMin = false;
  QUIRE_INLINE static void LoadScales(const std::uint8_t* scales, int k, Weights& out) {
    const TileFloats d = F16At(scales, 0);
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      out.scale[h] = Multiply(d, SignedToFloat(BytesAfter(1, scales, 2 * k + h)));
    }
  }
};

// Q2_K: nibbles, low ones scales and high ones minima, each kind times an f16 of its own, one of
// each for 16 values.
struct NibbleScalesAndMinsOf16 : Of256 {
  static constexpr bool kHalves = true;
  static constexpr bool kHasMin = true;
  QUIRE_INLINE static void LoadScales(const std::uint8_t* scales, int k, Weights& out) {
    const TileFloats d = F16At(scales, 0);
    const TileFloats minus_dmin = Negate(F16At(scales, 1));
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      const TileBytes both = BytesAfter(2, scales, 2 * k + h);
      out.scale[h] = Multiply(d, UnsignedToFloat(LowNibbles(both)));
      out.min[h] = Multiply(minus_dmin, UnsignedToFloat(HighNibbles(both)));
    }
  }
};

// The types, as kernels/tile.h lists them.

template <const TileFormat& kOfType, typename Codes, typename Scales>
struct TileCodec : Codes, Scales {
  static constexpr TileFormat kFormat = kOfType;
  QUIRE_INLINE static void Load(const std::uint8_t* codes, const std::uint8_t* scales, int k,
                                Weights& out) {
    Codes::LoadCodes(codes, out);
    Scales::LoadScales(scales, k, out);
  }
};

struct TileQ4Zero : TileCodec<kTileQ4Zero, Nibbles<3>, Scale> {};
struct TileIq4Nl : TileCodec<kTileQ4Zero, Indices<kIq4Codes, 127, 7>, Scale> {};
struct TileQ4One : TileCodec<kTileQ4One, Nibbles<kNoOffset>, ScaleAndMin> {};
struct TileMxfp4 : TileCodec<kTileMxfp4, Indices<kMxfp4Codes, 12, 4>, PowerOfTwo> {};
struct TileQ5Zero : TileCodec<kTileQ5Zero, NibblesAndBits<4>, Scale> {};
struct TileQ5One : TileCodec<kTileQ5One, NibblesAndBits<kNoOffset>, ScaleAndMin> {};
struct TileQ8Zero : TileCodec<kTileQ8Zero, Bytes, Scale> {};
struct TileQ2K : TileCodec<kTileQ2K, Pairs, NibbleScalesAndMinsOf16> {};
struct TileQ3K : TileCodec<kTileQ3K, PairsAndBits, SignedByteScalesOf16> {};
struct TileQ4K : TileCodec<kTileQ4K, Nibbles<kNoOffset>, ByteScalesAndMins> {};
struct TileQ5K : TileCodec<kTileQ5K, NibblesAndBits<kNoOffset>, ByteScalesAndMins> {};
struct TileQ6K : TileCodec<kTileQ6K, NibblesAndPairs, SignedByteScalesOf16> {};
struct TileIq4Xs : TileCodec<kTileIq4Xs, Indices<kIq4Codes, 127, 7>, SignedByteScales> {};

}  // namespace
}  // namespace quire::kernels
