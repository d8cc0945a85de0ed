// How the outputs of a panel come to memory, over an ISA's tile_lanes.h, which is included first:
// past the caches, or with a request for their cache lines ahead of time.
#pragma once

#include <cstdint>

#include "kernels/matmul.h"
#include "kernels/wide/types.h"

namespace quire::kernels {
namespace {

constexpr std::int64_t kLineFloats = 16;  // of a cache line

// Rows of outputs as far apart, and as many of them, have left the caches before anybody reads
// them, as logits do: they need not go there. Whole lines only, which leave a core at once.
bool GoesPastCaches(const MatmulQuantArgs& args) {
  constexpr std::int64_t kFarApart = 16384, kManyRows = 7;
  return args.out_stride >= kFarApart && args.rows >= kManyRows &&
         args.out_stride % kLineFloats == 0 && args.outputs % kLineFloats == 0 &&
         reinterpret_cast<std::uintptr_t>(args.out) % 64 == 0 && args.bias == nullptr &&
         !args.accumulate;
}

template <int kTiles>
void StorePastCaches(const MatmulQuantArgs& args, std::int64_t tile,
                     const TileFloats (*sums)[kTiles]) {
  float* out = args.out + tile * kTile;
  for (std::int64_t r = 0; r < args.rows; ++r, out += args.out_stride) {
    for (int t = 0; t < kTiles; ++t) StorePastCaches(out + t * kTile, sums[r][t]);
  }
  AwaitStoresPastCaches();
}

// Asks, some rows for each block of weights, for the cache lines that the outputs of kTiles tiles
// will be written to: all at once at the end, while nothing is left to compute, they would be
// waited for.
template <int kTiles>
class OutputsAhead {
 public:
  OutputsAhead(const MatmulQuantArgs& args, std::int64_t tile, bool past_caches)
      : args_(args), out_(args.out + tile * kTile) {
    if (past_caches || args.blocks == 0 || args.rows * args.out_stride < kManyOutputs) return;
    rows_a_block_ = (args.rows + args.blocks - 1) / args.blocks;
  }

  QUIRE_INLINE void AskForSome() {
    const std::int64_t wanted = asked_ + rows_a_block_;
    const std::int64_t end = wanted < args_.rows ? wanted : args_.rows;
    for (; asked_ < end; ++asked_) {
      const float* out = out_ + asked_ * args_.out_stride;
      for (int i = 0; i < kTiles * kTile; i += kLineFloats) __builtin_prefetch(out + i, 1);
    }
  }

 private:
  // Outputs of a panel that its core's first cache does not hold from one tile to the next.
  static constexpr std::int64_t kManyOutputs = 32768;

  const MatmulQuantArgs& args_;
  const float* out_;
  std::int64_t rows_a_block_ = 0;
  std::int64_t asked_ = 0;
};

}  // namespace
}  // namespace quire::kernels
