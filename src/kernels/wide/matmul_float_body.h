// Products with f32 activations, over an ISA's lanes.h, which is included first.
//
// Each output is a dot product along the rows as the checkpoint stores them, so nothing is
// repacked: 16 lanes of the depth, folded at the end. A tile of rows times outputs is summed at
// once, so that a register of activations and one of weights each serve several sums. Rows that the
// first cache holds stay there while outputs pass by, and these in the second while all rows do.
#pragma once

#include "kernels/matmul.h"
#include "kernels/wide/parts.h"

namespace quire::kernels {
namespace {

constexpr int kTileRows = kRegisters == 32 ? 4 : 3;
constexpr int kTileOutputs = kRegisters == 32 ? (kWidth == kLanes ? 4 : 2) : 2;

struct DotTile {
  const float* x;
  std::int64_t x_stride;
  std::int64_t depth;
};

// Sums of kRows rows from `tile.x` with kOutputs rows of weights.
template <typename T, int kRows, int kOutputs>
QUIRE_INLINE void Dots(const DotTile& tile, const T* weights, float (*sums)[kOutputs]) {
  Floats lanes[kRows][kOutputs][kParts] = {};
  const auto step = [&](int part, std::int64_t i, auto mask) QUIRE_INLINE_LAMBDA {
    Floats w[kOutputs];
#pragma GCC unroll 4
    for (int o = 0; o < kOutputs; ++o) w[o] = Load(weights + o * tile.depth + i, mask);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      Floats x = Load(tile.x + r * tile.x_stride + i, mask);
      KeepLoaded(x);
#pragma GCC unroll 4
      for (int o = 0; o < kOutputs; ++o) {
        lanes[r][o][part] = Fused(x, w[o], lanes[r][o][part]);
      }
    }
  };
  ForParts(tile.depth, step);
  for (int r = 0; r < kRows; ++r) {
    for (int o = 0; o < kOutputs; ++o) sums[r][o] = FoldHalves(lanes[r][o]);
  }
}

template <typename T, int kRows, int kOutputs>
void MultiplyTile(const MatmulFloatArgs& args, std::int64_t row, std::int64_t output) {
  float sums[kRows][kOutputs];
  const DotTile tile = {args.x + row * args.x_stride, args.x_stride, args.depth};
  Dots<T, kRows, kOutputs>(tile, reinterpret_cast<const T*>(args.weights) + output * args.depth,
                           sums);
  for (int r = 0; r < kRows; ++r) {
    for (int o = 0; o < kOutputs; ++o) {
      float& out = args.out[(row + r) * args.out_stride + output + o];
      const float sum = args.bias != nullptr ? sums[r][o] + args.bias[output + o] : sums[r][o];
      out = args.accumulate ? out + sum : sum;
    }
  }
}

template <typename T, int kRows>
void MultiplyRows(const MatmulFloatArgs& args, std::int64_t row, std::int64_t begin,
                  std::int64_t end) {
  std::int64_t output = begin;
  for (; output + kTileOutputs <= end; output += kTileOutputs) {
    MultiplyTile<T, kRows, kTileOutputs>(args, row, output);
  }
  for (; output < end; ++output) MultiplyTile<T, kRows, 1>(args, row, output);
}

// Weights that all rows pass by before the next ones are read: the second cache holds them.
constexpr std::int64_t kBytesTogether = std::int64_t{128} << 10;

template <typename T>
void MatmulFloat(const MatmulFloatArgs& args) {
  const std::int64_t tile_bytes = args.depth * kTileOutputs * static_cast<std::int64_t>(sizeof(T));
  // One tile at least; a depth of 0 has no bytes.
  const std::int64_t together = (kBytesTogether / (tile_bytes + 1) + 1) * kTileOutputs;
  for (std::int64_t begin = 0; begin < args.outputs; begin += together) {
    const std::int64_t end = begin + together < args.outputs ? begin + together : args.outputs;
    std::int64_t row = 0;
    for (; row + kTileRows <= args.rows; row += kTileRows) {
      MultiplyRows<T, kTileRows>(args, row, begin, end);
    }
    for (; row < args.rows; ++row) MultiplyRows<T, 1>(args, row, begin, end);
  }
}

}  // namespace
}  // namespace quire::kernels
