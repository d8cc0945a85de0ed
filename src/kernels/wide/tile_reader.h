// The blocks of a tile in the order of memory (kernels/tile.h), and the request for those that come
// later.
#pragma once

#include <cstdint>

#include "kernels/matmul.h"
#include "kernels/wide/types.h"

namespace quire::kernels {
namespace {

template <typename Codec, int kTile>
class TileReader {
 public:
  TileReader(const MatmulQuantArgs& args, std::int64_t tile)
      : block_(reinterpret_cast<const std::uint8_t*>(args.tiles) +
               tile * (args.blocks / Codec::kBlocksEach) * kBlockBytes) {}

  template <typename Weights>
  QUIRE_INLINE void Load(std::int64_t block, Weights& out) const {
    const std::uint8_t* scales = block_ + block / Codec::kBlocksEach * kBlockBytes;
    const int k = static_cast<int>(block % Codec::kBlocksEach);
    Codec::Load(scales + kScaleBytes + k * kCodeBytes, scales, k, out);
  }

  // Asks for a block, which may be one of the tiles behind: tiles follow one another. Behind the
  // last tile nothing is read.
  QUIRE_INLINE void Prefetch(std::int64_t block) const {
    const std::uint8_t* scales = block_ + block / Codec::kBlocksEach * kBlockBytes;
    const std::int64_t k = block % Codec::kBlocksEach;
    const std::int64_t begin = k == 0 ? 0 : kScaleBytes + k * kCodeBytes;
    const std::int64_t end = kScaleBytes + (k + 1) * kCodeBytes;
    for (std::int64_t i = begin; i < end; i += kCacheLine) {
      __builtin_prefetch(scales + i, 0, kToSecondLevel);
    }
  }

 private:
  static constexpr std::int64_t kCacheLine = 64;
  static constexpr int kToSecondLevel = 2;  // of the caches
  static constexpr std::int64_t kScaleBytes = Codec::kFormat.scale_bytes * kTile;
  static constexpr std::int64_t kCodeBytes = Codec::kFormat.code_bytes * kTile;
  static constexpr std::int64_t kBlockBytes = kScaleBytes + Codec::kBlocksEach * kCodeBytes;

  const std::uint8_t* block_;
};

// Asks for a block of tiles [tile, tile + kTiles), which are read side by side. It may be behind
// their last one: then it is of the tiles that come next.
template <typename Codec, int kTile, int kTiles>
QUIRE_INLINE void PrefetchTiles(const MatmulQuantArgs& args, std::int64_t tile,
                                std::int64_t block) {
  if (block >= args.blocks) {
    tile += kTiles;
    block -= args.blocks;
  }
  for (int t = 0; t < kTiles; ++t) TileReader<Codec, kTile>(args, tile + t).Prefetch(block);
}

}  // namespace
}  // namespace quire::kernels
