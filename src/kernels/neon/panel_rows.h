// What kernels for tiles of 8 outputs share: where the sums of a panel's row (wide/row_block.h) go,
// eight f32 lanes in two registers, outputs 0 to 3 and 4 to 7; and for which types they are.
#pragma once

#include <cstdint>

#include <arm_neon.h>

#include "kernels/matmul.h"
#include "kernels/neon/tile_lanes.h"
#include "kernels/table.h"
#include "kernels/wide/row_block.h"
#include "kernels/wide/tile_codecs_body.h"

namespace quire::kernels {
namespace {

// Which of the three sums of a block belongs to a sub-block.
template <typename Codec, int kHalf>
constexpr int kSumOf = Codec::kHalves ? kHalf : 2;

// Writes the sums of one row and tile to where they belong; outputs that are not there are dropped.
// Not inline: once a tile is seldom, and thirteen types times its branches are much code.
[[gnu::noinline]] void StoreSums(const MatmulQuantArgs& args, std::int64_t tile, std::int64_t row,
                                 const float32x4_t* sums) {
  const std::int64_t first = tile * kTile;
  const std::int64_t count = args.outputs - first < kTile ? args.outputs - first : kTile;
  float* out = args.out + row * args.out_stride + first;
  const float* bias = args.bias != nullptr ? args.bias + first : nullptr;
  if (count == kTile) {
    for (int p = 0; p < 2; ++p) {
      float32x4_t sum = sums[p];
      if (bias != nullptr) sum = vaddq_f32(sum, vld1q_f32(bias + 4 * p));
      if (args.accumulate) sum = vaddq_f32(vld1q_f32(out + 4 * p), sum);
      vst1q_f32(out + 4 * p, sum);
    }
    return;
  }
  float values[kTile];
  for (int p = 0; p < 2; ++p) vst1q_f32(values + 4 * p, sums[p]);
  for (std::int64_t i = 0; i < count; ++i) {
    const float sum = bias != nullptr ? values[i] + bias[i] : values[i];
    out[i] = args.accumulate ? out[i] + sum : sum;
  }
}

// Sets the products of all types that have tiles: Kernel<Codec>::Matmul.
template <template <typename> class Kernel>
void SetMatmulQuant(CpuTable& table) {
  const auto set = [&table](DType type, MatmulQuantFn matmul) {
    table.quant[static_cast<int>(type)].matmul = matmul;
  };
  set(DType::kQ4_0, Kernel<TileQ4Zero>::Matmul);
  set(DType::kQ4_1, Kernel<TileQ4One>::Matmul);
  set(DType::kQ5_0, Kernel<TileQ5Zero>::Matmul);
  set(DType::kQ5_1, Kernel<TileQ5One>::Matmul);
  set(DType::kQ8_0, Kernel<TileQ8Zero>::Matmul);
  set(DType::kQ2_K, Kernel<TileQ2K>::Matmul);
  set(DType::kQ3_K, Kernel<TileQ3K>::Matmul);
  set(DType::kQ4_K, Kernel<TileQ4K>::Matmul);
  set(DType::kQ5_K, Kernel<TileQ5K>::Matmul);
  set(DType::kQ6_K, Kernel<TileQ6K>::Matmul);
  set(DType::kIQ4_NL, Kernel<TileIq4Nl>::Matmul);
  set(DType::kIQ4_XS, Kernel<TileIq4Xs>::Matmul);
  set(DType::kMXFP4, Kernel<TileMxfp4>::Matmul);
}

}  // namespace
}  // namespace quire::kernels
