// Products of rows with tiles of 8 outputs, one output per 32-bit lane; how four values of a row
// meet four of each output is the ISA's `Product` (neon/matmul_quant.cc, neon_dot/product.h).
//
// A block of weights is decoded into sixteen registers once and then meets every row of the panel,
// one or two at a time. Lanes never mix, so nothing is folded at the end.
#pragma once

#include <cstdint>

#include <arm_neon.h>

#include "kernels/matmul.h"
#include "kernels/neon/panel_rows.h"
#include "kernels/neon/tile_lanes.h"
#include "kernels/wide/tile_codecs_body.h"
#include "kernels/wide/tile_reader.h"

namespace quire::kernels {
namespace {

// The dot product's start: minus what the weights' offset adds to it.
template <typename Codec, int kHalf>
QUIRE_INLINE int32x4_t StartOf(const RowBlock& rows, int r) {
  if constexpr (Codec::kOffsetBits < 0) {
    return vdupq_n_s32(0);
  } else {
    const std::int32_t* sum = rows.negative_sums + kSumOf<Codec, kHalf> * rows.stride + r;
    return vshlq_n_s32(vld1q_dup_s32(sum), Codec::kOffsetBits);
  }
}

// sums += the products of kRows rows with a sub-block of kSixteens times 16 values.
template <typename Product, typename Codec, int kRows, int kHalf, int kSixteens>
QUIRE_INLINE void AddSub(const Weights& weights, const RowBlock& rows, float32x4_t (*sums)[2]) {
  int32x4_t dots[kRows][2];
#pragma GCC unroll 2
  for (int r = 0; r < kRows; ++r) {
    dots[r][0] = dots[r][1] = StartOf<Codec, kHalf>(rows, r);
  }
#pragma GCC unroll 2
  for (int i = kHalf; i < kHalf + kSixteens; ++i) {
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) {
      const int8x16_t x = vld1q_s8(rows.codes + kQuantValues * r + 16 * i);
      Product::template AddSixteen<Codec>(weights.codes + 4 * i, x, dots[r]);
    }
  }
#pragma GCC unroll 2
  for (int r = 0; r < kRows; ++r) {
    const float scaled = rows.scaled_sums[kSumOf<Codec, kHalf> * rows.stride + r];
#pragma GCC unroll 2
    for (int p = 0; p < 2; ++p) {
      const float32x4_t scaled_dot = vmulq_n_f32(vcvtq_f32_s32(dots[r][p]), rows.scales[r]);
      float32x4_t sum = vfmaq_f32(sums[r][p], scaled_dot, weights.scale[kHalf].part[p]);
      if constexpr (Codec::kHasMin) sum = vfmaq_n_f32(sum, weights.min[kHalf].part[p], scaled);
      sums[r][p] = sum;
    }
  }
}

template <typename Product, typename Codec, int kRows>
QUIRE_INLINE void AddBlock(const Weights& weights, const RowBlock& rows, float32x4_t (*sums)[2]) {
  if constexpr (Codec::kHalves) {
    AddSub<Product, Codec, kRows, 0, 1>(weights, rows, sums);
    AddSub<Product, Codec, kRows, 1, 1>(weights, rows, sums);
  } else {
    AddSub<Product, Codec, kRows, 0, 2>(weights, rows, sums);
  }
}

// A panel of one row: its sums stay in registers.
template <typename Product, typename Codec>
void MultiplyRow(const MatmulQuantArgs& args, std::int64_t tile) {
  const TileReader<Codec, kTile> reader(args, tile);
  float32x4_t sums[1][2] = {{vdupq_n_f32(0.0F), vdupq_n_f32(0.0F)}};
  for (std::int64_t b = 0; b < args.blocks; ++b) {
    Weights weights;
    reader.Load(b, weights);
    AddBlock<Product, Codec, 1>(weights, RowsAt(args, b, 0), sums);
  }
  StoreSums(args, tile, 0, sums[0]);
}

// The sums of more rows are in the first-level cache.
template <typename Product, typename Codec>
void MultiplyRows(const MatmulQuantArgs& args, std::int64_t tile) {
  const TileReader<Codec, kTile> reader(args, tile);
  float32x4_t sums[kPanelRows][2];
  for (std::int64_t r = 0; r < args.rows; ++r) sums[r][0] = sums[r][1] = vdupq_n_f32(0.0F);
  for (std::int64_t b = 0; b < args.blocks; ++b) {
    Weights weights;
    reader.Load(b, weights);
    RowBlock rows = RowsAt(args, b, 0);
    constexpr int kRowsAtOnce = Product::kRowsAtOnce;
    std::int64_t r = 0;
    for (; r + kRowsAtOnce <= args.rows; r += kRowsAtOnce, rows.Skip(kRowsAtOnce)) {
      AddBlock<Product, Codec, kRowsAtOnce>(weights, rows, sums + r);
    }
    if constexpr (kRowsAtOnce > 1) {
      if (r < args.rows) AddBlock<Product, Codec, 1>(weights, rows, sums + r);
    }
  }
  for (std::int64_t r = 0; r < args.rows; ++r) StoreSums(args, tile, r, sums[r]);
}

template <typename Product, typename Codec>
void MultiplyTiles(const MatmulQuantArgs& args) {
  for (std::int64_t tile = 0; tile * kTile < args.outputs; ++tile) {
    if (args.rows == 1) {
      MultiplyRow<Product, Codec>(args, tile);
    } else {
      MultiplyRows<Product, Codec>(args, tile);
    }
  }
}

}  // namespace
}  // namespace quire::kernels
