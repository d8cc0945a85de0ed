// Packing of checkpoint blocks into the tiles of kernels/tile.h, for every tile width. Built for
// the baseline: it moves bytes, which needs no wide registers.
#include <cstring>

#include "kernels/fill.h"
#include "kernels/matmul.h"
#include "kernels/portable/quant_blocks.h"
#include "kernels/table.h"
#include "kernels/tile.h"

namespace quire::kernels {
namespace {

using Byte = std::uint8_t;

// Where one output's bytes of one block go: bytes of a row stand 4N apart from row to row.
template <int N>
struct Slot {
  Byte* first;  // of the output, in the first row
  Byte* Row(int row) const { return first + row * 4 * N; }
};

template <int N>
void PutNibbles(const Byte* low_first, Slot<N> slot) {
  for (int g = 0; g < 4; ++g) std::memcpy(slot.Row(g), low_first + 4 * g, 4);
}

// Nibbles of 32 codes.
template <int N>
void PutCodeNibbles(const Byte* codes, Slot<N> slot) {
  Byte bytes[16];
  for (int i = 0; i < 16; ++i) {
    bytes[i] = static_cast<Byte>((codes[i] & 15) | (codes[i + 16] & 15) << 4);
  }
  PutNibbles(bytes, slot);
}

// Bit `bit` of 32 codes, to row `row`.
template <int N>
void PutBits(const Byte* codes, int bit, Slot<N> slot, int row) {
  Byte bytes[4] = {};
  for (int i = 0; i < 32; ++i) {
    bytes[i % 4] = static_cast<Byte>(bytes[i % 4] | (codes[i] >> bit & 1) << (i / 4));
  }
  std::memcpy(slot.Row(row), bytes, 4);
}

// Bits `bit` and the next one of 32 codes, to rows `row` and the next.
template <int N>
void PutPairs(const Byte* codes, int bit, Slot<N> slot, int row) {
  for (int h = 0; h < 2; ++h) {
    Byte bytes[4] = {};
    for (int i = 0; i < 16; ++i) {
      bytes[i % 4] =
          static_cast<Byte>(bytes[i % 4] | (codes[16 * h + i] >> bit & 3) << (i / 4 * 2));
    }
    std::memcpy(slot.Row(row + h), bytes, 4);
  }
}

// One output's scales: element k of it stands at k * N of its size.
template <int N>
struct ScaleSlot {
  Byte* base;  // of the block's scales
  int output;
  void PutHalf(int k, const Byte* half) const { std::memcpy(base + (k * N + output) * 2, half, 2); }
  // Bytes stand after `halves` fields of f16.
  void PutByte(int halves, int k, Byte value) const {
    base[halves * 2 * N + k * N + output] = value;
  }
};

// Codes of 256 values as the portable decoder gives them, made unsigned.
template <typename Type>
void UnsignedCodes(const Byte* block, int offset, Byte* codes) {
  std::int8_t signed_codes[Type::kValues];
  float scales[Type::kValues / Type::kSub];
  float mins[Type::kValues / Type::kSub];
  Type::Decode(block, signed_codes, scales, mins);
  for (int i = 0; i < Type::kValues; ++i) codes[i] = static_cast<Byte>(signed_codes[i] + offset);
}

// Each packer has the checkpoint's type, the tile's format, and
//   Pack(block, codes of block k of 32 values -> slot, scales).
struct PackQ4Zero {
  using Type = Q4Zero;
  static constexpr TileFormat kFormat = kTileQ4Zero;
  template <int N, typename SlotOf>
  static void Pack(const Byte* block, const SlotOf& slot, const ScaleSlot<N>& scales) {
    PutNibbles<N>(block + 2, slot(0));
    scales.PutHalf(0, block);
  }
};

struct PackIq4Nl : PackQ4Zero {
  using Type = Iq4Nl;
};

struct PackQ4One {
  using Type = Q4One;
  static constexpr TileFormat kFormat = kTileQ4One;
  template <int N, typename SlotOf>
  static void Pack(const Byte* block, const SlotOf& slot, const ScaleSlot<N>& scales) {
    PutNibbles<N>(block + 4, slot(0));
    scales.PutHalf(0, block);
    scales.PutHalf(1, block + 2);
  }
};

struct PackMxfp4 {
  using Type = Mxfp4;
  static constexpr TileFormat kFormat = kTileMxfp4;
  template <int N, typename SlotOf>
  static void Pack(const Byte* block, const SlotOf& slot, const ScaleSlot<N>& scales) {
    PutNibbles<N>(block + 1, slot(0));
    scales.PutByte(0, 0, block[0]);
  }
};

// The high bits of Q5 blocks: bit i of the word is bit 4 of value i.
template <int N>
void PutHighBits(const Byte* word, Slot<N> slot) {
  const std::uint32_t bits = Word(word);
  Byte codes[32];
  for (int i = 0; i < 32; ++i) codes[i] = bits >> i & 1;
  PutBits<N>(codes, 0, slot, 4);
}

struct PackQ5Zero {
  using Type = Q5Zero;
  static constexpr TileFormat kFormat = kTileQ5Zero;
  template <int N, typename SlotOf>
  static void Pack(const Byte* block, const SlotOf& slot, const ScaleSlot<N>& scales) {
    PutNibbles<N>(block + 6, slot(0));
    PutHighBits<N>(block + 2, slot(0));
    scales.PutHalf(0, block);
  }
};

struct PackQ5One {
  using Type = Q5One;
  static constexpr TileFormat kFormat = kTileQ5One;
  template <int N, typename SlotOf>
  static void Pack(const Byte* block, const SlotOf& slot, const ScaleSlot<N>& scales) {
    PutNibbles<N>(block + 8, slot(0));
    PutHighBits<N>(block + 4, slot(0));
    scales.PutHalf(0, block);
    scales.PutHalf(1, block + 2);
  }
};

struct PackQ8Zero {
  using Type = Q8Zero;
  static constexpr TileFormat kFormat = kTileQ8Zero;
  template <int N, typename SlotOf>
  static void Pack(const Byte* block, const SlotOf& slot, const ScaleSlot<N>& scales) {
    constexpr std::uint32_t kOffset = N == 16 ? 0x80808080U : 0;
    for (int g = 0; g < 8; ++g) {
      const std::uint32_t offset_codes = Word(block + 2 + 4 * g) ^ kOffset;
      std::memcpy(slot(0).Row(g), &offset_codes, 4);
    }
    scales.PutHalf(0, block);
  }
};

struct PackQ2K {
  using Type = Q2K;
  static constexpr TileFormat kFormat = kTileQ2K;
  template <int N, typename SlotOf>
  static void Pack(const Byte* block, const SlotOf& slot, const ScaleSlot<N>& scales) {
    Byte codes[256];
    UnsignedCodes<Q2K>(block, 0, codes);
    for (int b = 0; b < 8; ++b) PutPairs<N>(codes + 32 * b, 0, slot(b), 0);
    scales.PutHalf(0, block + 80);
    scales.PutHalf(1, block + 82);
    for (int s = 0; s < 16; ++s) scales.PutByte(2, s, block[s]);
  }
};

struct PackQ3K {
  using Type = Q3K;
  static constexpr TileFormat kFormat = kTileQ3K;
  template <int N, typename SlotOf>
  static void Pack(const Byte* block, const SlotOf& slot, const ScaleSlot<N>& scales) {
    Byte codes[256];
    UnsignedCodes<Q3K>(block, 4, codes);
    for (int b = 0; b < 8; ++b) {
      PutPairs<N>(codes + 32 * b, 0, slot(b), 0);
      PutBits<N>(codes + 32 * b, 2, slot(b), 2);
    }
    scales.PutHalf(0, block + 108);
    for (int s = 0; s < 16; ++s) scales.PutByte(1, s, static_cast<Byte>(Q3K::ScaleAt(block, s)));
  }
};

template <int N>
void PutScalesAndMins(const Byte* block, const ScaleSlot<N>& scales) {
  scales.PutHalf(0, block);
  scales.PutHalf(1, block + 2);
  for (int s = 0; s < 8; ++s) {
    scales.PutByte(2, s, static_cast<Byte>(ScaleOf(block + 4, s)));
    scales.PutByte(2, 8 + s, static_cast<Byte>(MinOf(block + 4, s)));
  }
}

struct PackQ4K {
  using Type = Q4K;
  static constexpr TileFormat kFormat = kTileQ4K;
  template <int N, typename SlotOf>
  static void Pack(const Byte* block, const SlotOf& slot, const ScaleSlot<N>& scales) {
    // 32 bytes hold the nibbles of two blocks, all low ones first.
    for (int b = 0; b < 8; ++b) {
      const Byte* bytes = block + 16 + b / 2 * 32;
      const int shift = b % 2 * 4;
      Byte nibbles[16];
      for (int i = 0; i < 16; ++i) {
        nibbles[i] =
            static_cast<Byte>((bytes[i] >> shift & 15) | (bytes[i + 16] >> shift & 15) << 4);
      }
      PutNibbles<N>(nibbles, slot(b));
    }
    PutScalesAndMins<N>(block, scales);
  }
};

struct PackQ5K {
  using Type = Q5K;
  static constexpr TileFormat kFormat = kTileQ5K;
  template <int N, typename SlotOf>
  static void Pack(const Byte* block, const SlotOf& slot, const ScaleSlot<N>& scales) {
    Byte codes[256];
    UnsignedCodes<Q5K>(block, 0, codes);
    for (int b = 0; b < 8; ++b) {
      PutCodeNibbles<N>(codes + 32 * b, slot(b));
      PutBits<N>(codes + 32 * b, 4, slot(b), 4);
    }
    PutScalesAndMins<N>(block, scales);
  }
};

struct PackQ6K {
  using Type = Q6K;
  static constexpr TileFormat kFormat = kTileQ6K;
  template <int N, typename SlotOf>
  static void Pack(const Byte* block, const SlotOf& slot, const ScaleSlot<N>& scales) {
    Byte codes[256];
    UnsignedCodes<Q6K>(block, 32, codes);
    for (int b = 0; b < 8; ++b) {
      PutCodeNibbles<N>(codes + 32 * b, slot(b));
      PutPairs<N>(codes + 32 * b, 4, slot(b), 4);
    }
    scales.PutHalf(0, block + 208);
    for (int s = 0; s < 16; ++s) scales.PutByte(1, s, block[192 + s]);
  }
};

struct PackIq4Xs {
  using Type = Iq4Xs;
  static constexpr TileFormat kFormat = kTileIq4Xs;
  template <int N, typename SlotOf>
  static void Pack(const Byte* block, const SlotOf& slot, const ScaleSlot<N>& scales) {
    for (int b = 0; b < 8; ++b) PutNibbles<N>(block + 8 + 16 * b, slot(b));
    scales.PutHalf(0, block);
    for (int s = 0; s < 8; ++s) {
      scales.PutByte(1, s, static_cast<Byte>(Iq4Xs::ScaleAt(block, s)));
    }
  }
};

template <typename Packer, int N>
void Pack(const PackArgs& args) {
  using Type = typename Packer::Type;
  constexpr int kCodeBytes = Packer::kFormat.code_bytes * N;
  constexpr int kScaleBytes = Packer::kFormat.scale_bytes * N;
  constexpr int kBlockBytes = kScaleBytes + Type::kValues / 32 * kCodeBytes;
  auto* tile = reinterpret_cast<Byte*>(args.tile);
  if (args.outputs < N) {
    std::memset(tile, 0, static_cast<std::size_t>(args.blocks * kBlockBytes));
  }
  for (std::int64_t b = 0; b < args.blocks; ++b, tile += kBlockBytes) {
    for (int o = 0; o < args.outputs; ++o) {
      const auto* block =
          reinterpret_cast<const Byte*>(args.rows) + o * args.row_bytes + b * Type::kBytes;
      const auto slot = [&](int k) { return Slot<N>{tile + kScaleBytes + k * kCodeBytes + o * 4}; };
      Packer::template Pack<N>(block, slot, ScaleSlot<N>{tile, o});
    }
  }
}

template <typename Packer, int N>
void SetPack(CpuTable& table, DType type) {
  QuantKernel& kernel = table.quant[static_cast<int>(type)];
  kernel.pack = Pack<Packer, N>;
  kernel.tile_outputs = N;
  kernel.tile_block_bytes =
      N * (Packer::kFormat.code_bytes * Packer::Type::kValues / 32 + Packer::kFormat.scale_bytes);
}

template <int N>
void SetPacks(CpuTable& table) {
  SetPack<PackQ4Zero, N>(table, DType::kQ4_0);
  SetPack<PackQ4One, N>(table, DType::kQ4_1);
  SetPack<PackQ5Zero, N>(table, DType::kQ5_0);
  SetPack<PackQ5One, N>(table, DType::kQ5_1);
  SetPack<PackQ8Zero, N>(table, DType::kQ8_0);
  SetPack<PackQ2K, N>(table, DType::kQ2_K);
  SetPack<PackQ3K, N>(table, DType::kQ3_K);
  SetPack<PackQ4K, N>(table, DType::kQ4_K);
  SetPack<PackQ5K, N>(table, DType::kQ5_K);
  SetPack<PackQ6K, N>(table, DType::kQ6_K);
  SetPack<PackIq4Nl, N>(table, DType::kIQ4_NL);
  SetPack<PackIq4Xs, N>(table, DType::kIQ4_XS);
  SetPack<PackMxfp4, N>(table, DType::kMXFP4);
}

}  // namespace

void FillPortablePack8(CpuTable& table) { SetPacks<8>(table); }
void FillPortablePack16(CpuTable& table) { SetPacks<16>(table); }

}  // namespace quire::kernels
