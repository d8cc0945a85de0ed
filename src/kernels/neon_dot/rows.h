// Products of rows with tiles of 8 outputs by `sdot`, one output per 32-bit lane.
//
// `sdot` by element takes four values of a row from any quarter of a register: 16 bytes of a row
// are loaded once and serve four groups of weights, without a broadcast. Lanes never mix, so
// nothing is folded at the end.
//
// A dot product starts from the bits of 1.5 * 2^23 times the row's scale, a power of two: then its
// own bits are a float, and subtracting the start leaves the product times the scale. That is one
// instruction where conversion and multiplication are two.
#pragma once

#include <cstdint>

#include <arm_neon.h>

#include "kernels/matmul.h"
#include "kernels/neon/panel_rows.h"
#include "kernels/neon/tile_codecs.h"
#include "kernels/wide/tile_reader.h"

namespace quire::kernels {
namespace {

// The dot product's start: that of the scale, minus what the weights' offset adds to it.
template <typename Codec, int kHalf>
QUIRE_INLINE int32x4_t StartOf(const RowBlock& rows, int r, float32x4_t start) {
  const int32x4_t bits = vreinterpretq_s32_f32(start);
  if constexpr (Codec::kOffsetBits < 0) {
    return bits;
  } else {
    const int32x4_t offset =
        vld1q_dup_s32(rows.negative_sums + kSumOf<Codec, kHalf> * rows.stride + r);
    return vaddq_s32(bits, vshlq_n_s32(offset, Codec::kOffsetBits));
  }
}

// dots += the products of four groups with 16 values of a row.
QUIRE_INLINE void AddSixteen(const int8x16_t (*codes)[2], int8x16_t x, int32x4_t* dots) {
#pragma GCC unroll 2
  for (int p = 0; p < 2; ++p) {
    dots[p] = vdotq_laneq_s32(dots[p], codes[0][p], x, 0);
    dots[p] = vdotq_laneq_s32(dots[p], codes[1][p], x, 1);
    dots[p] = vdotq_laneq_s32(dots[p], codes[2][p], x, 2);
    dots[p] = vdotq_laneq_s32(dots[p], codes[3][p], x, 3);
  }
}

// sums += the products of kRows rows with a sub-block of kSixteens times 16 values.
template <typename Codec, int kRows, int kHalf, int kSixteens>
QUIRE_INLINE void AddSub(const Weights& weights, const RowBlock& rows, float32x4_t (*sums)[2]) {
  float32x4_t starts[kRows];
  int32x4_t dots[kRows][2];
#pragma GCC unroll 2
  for (int r = 0; r < kRows; ++r) {
    starts[r] = vld1q_dup_f32(rows.starts + r);
    dots[r][0] = dots[r][1] = StartOf<Codec, kHalf>(rows, r, starts[r]);
  }
#pragma GCC unroll 2
  for (int i = kHalf; i < kHalf + kSixteens; ++i) {
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) {
      AddSixteen(weights.codes + 4 * i, vld1q_s8(rows.codes + kQuantValues * r + 16 * i), dots[r]);
    }
  }
#pragma GCC unroll 2
  for (int r = 0; r < kRows; ++r) {
    const float scaled = rows.scaled_sums[kSumOf<Codec, kHalf> * rows.stride + r];
#pragma GCC unroll 2
    for (int p = 0; p < 2; ++p) {
      const float32x4_t scaled_dot = vsubq_f32(vreinterpretq_f32_s32(dots[r][p]), starts[r]);
      float32x4_t sum = vfmaq_f32(sums[r][p], scaled_dot, weights.scale[kHalf][p]);
      if constexpr (Codec::kHasMin) sum = vfmaq_n_f32(sum, weights.min[kHalf][p], scaled);
      sums[r][p] = sum;
    }
  }
}

template <typename Codec, int kRows>
QUIRE_INLINE void AddBlock(const Weights& weights, const RowBlock& rows, float32x4_t (*sums)[2]) {
  if constexpr (Codec::kHalves) {
    AddSub<Codec, kRows, 0, 1>(weights, rows, sums);
    AddSub<Codec, kRows, 1, 1>(weights, rows, sums);
  } else {
    AddSub<Codec, kRows, 0, 2>(weights, rows, sums);
  }
}

// A panel of one row: its sums stay in registers.
template <typename Codec>
void MultiplyRow(const MatmulQuantArgs& args, std::int64_t tile) {
  const TileReader<Codec, kTile> reader(args, tile);
  float32x4_t sums[1][2] = {{vdupq_n_f32(0.0F), vdupq_n_f32(0.0F)}};
  for (std::int64_t b = 0; b < args.blocks; ++b) {
    Weights weights;
    reader.Load(b, weights);
    AddBlock<Codec, 1>(weights, RowsOf(args, b), sums);
  }
  StoreSums(args, tile, 0, sums[0]);
}

}  // namespace
}  // namespace quire::kernels
