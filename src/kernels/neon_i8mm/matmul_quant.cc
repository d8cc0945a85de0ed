// Products with int8 activations on tiles of 8 outputs by `smmla`, which multiplies eight values of
// two rows with eight of two outputs: twice what `sdot` does.
//
// A block of weights is decoded as for `sdot` (wide/tile_codecs_body.h), then two groups of an
// output are brought side by side, once for all rows of the panel. A register of results is {row 0
// output 0, row 0 output 1, row 1 output 0, row 1 output 1}; scales and sums are kept in that form
// too, and a tile's sums fall into rows at its end. An odd last row goes with itself, and the copy
// is dropped; one row alone is `sdot`'s.
//
// The start of a dot product is as in neon/rows.h.
#include <arm_neon.h>

#include "kernels/fill.h"
#include "kernels/matmul.h"
#include "kernels/neon/panel_rows.h"
#include "kernels/neon/rows.h"
#include "kernels/neon/tile_lanes.h"
#include "kernels/neon_dot/product.h"
#include "kernels/wide/tile_codecs_body.h"
#include "kernels/wide/tile_reader.h"

namespace quire::kernels {
namespace {

constexpr int kPairs = kTile / 2;  // pairs of outputs

// The second index is a pair's.
struct PairedWeights {
  int8x16_t codes[4][kPairs];  // values 8i to 8i + 7 of one output, then of the other
  float32x4_t scale[2][kPairs];
  float32x4_t min[2][kPairs];
};

// {first, second} of a pair of outputs, for both rows: of 8 outputs in two registers.
QUIRE_INLINE void TwiceEach(const TileFloats& x, float32x4_t* out) {
#pragma GCC unroll 2
  for (int p = 0; p < 2; ++p) {
    const float64x2_t pairs = vreinterpretq_f64_f32(x.part[p]);
    out[2 * p] = vreinterpretq_f32_f64(vdupq_laneq_f64(pairs, 0));
    out[2 * p + 1] = vreinterpretq_f32_f64(vdupq_laneq_f64(pairs, 1));
  }
}

template <typename Codec>
QUIRE_INLINE void Pair(const Weights& weights, PairedWeights& out) {
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
#pragma GCC unroll 2
    for (int p = 0; p < 2; ++p) {
      const int32x4_t even = vreinterpretq_s32_s8(weights.codes[2 * i].part[p]);
      const int32x4_t odd = vreinterpretq_s32_s8(weights.codes[2 * i + 1].part[p]);
      out.codes[i][2 * p] = vreinterpretq_s8_s32(vzip1q_s32(even, odd));
      out.codes[i][2 * p + 1] = vreinterpretq_s8_s32(vzip2q_s32(even, odd));
    }
  }
#pragma GCC unroll 2
  for (int h = 0; h < (Codec::kHalves ? 2 : 1); ++h) {
    TwiceEach(weights.scale[h], out.scale[h]);
    if constexpr (Codec::kHasMin) TwiceEach(weights.min[h], out.min[h]);
  }
}

// {x[0], x[0], x[1], x[1]} of a pair of rows. kSecond is where the second row stands behind the
// first: at 1, or at 0, where it is the same.
template <int kSecond>
QUIRE_INLINE float32x4_t OfBoth(const float* x) {
  if constexpr (kSecond == 0) return vld1q_dup_f32(x);
  const float32x4_t both = vcombine_f32(vld1_f32(x), vdup_n_f32(0.0F));
  return vzip1q_f32(both, both);
}
template <int kSecond>
QUIRE_INLINE int32x4_t OfBoth(const std::int32_t* x) {
  if constexpr (kSecond == 0) return vld1q_dup_s32(x);
  const int32x4_t both = vcombine_s32(vld1_s32(x), vdup_n_s32(0));
  return vzip1q_s32(both, both);
}

template <typename Codec, int kSecond, int kHalf>
QUIRE_INLINE int32x4_t StartOfPair(const RowBlock& rows) {
  if constexpr (Codec::kOffsetBits < 0) {
    return vdupq_n_s32(0);
  } else {
    const std::int32_t* sums = rows.negative_sums + kSumOf<Codec, kHalf> * rows.stride;
    return vshlq_n_s32(OfBoth<kSecond>(sums), Codec::kOffsetBits);
  }
}

// dots += the products of 16 values of two rows: `codes` are two of a block's four.
QUIRE_INLINE void AddSixteen(const int8x16_t (*codes)[kPairs], int8x16_t first, int8x16_t second,
                             int32x4_t* dots) {
  const int64x2_t a = vreinterpretq_s64_s8(first), b = vreinterpretq_s64_s8(second);
  const int8x16_t x[2] = {vreinterpretq_s8_s64(vzip1q_s64(a, b)),
                          vreinterpretq_s8_s64(vzip2q_s64(a, b))};
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
#pragma GCC unroll 4
    for (int p = 0; p < kPairs; ++p) dots[p] = vmmlaq_s32(dots[p], x[i], codes[i][p]);
  }
}

// sums += the products of two rows with a sub-block of kSixteens times 16 values.
template <typename Codec, int kSecond, int kHalf, int kSixteens>
QUIRE_INLINE void AddSub(const PairedWeights& weights, const RowBlock& rows, float32x4_t* sums) {
  const float32x4_t scale = OfBoth<kSecond>(rows.scales);
  int32x4_t dots[kPairs];
  dots[0] = dots[1] = dots[2] = dots[3] = StartOfPair<Codec, kSecond, kHalf>(rows);
#pragma GCC unroll 2
  for (int i = kHalf; i < kHalf + kSixteens; ++i) {
    const std::int8_t* x = rows.codes + 16 * i;
    AddSixteen(weights.codes + 2 * i, vld1q_s8(x), vld1q_s8(x + kQuantValues * kSecond), dots);
  }
  const float32x4_t scaled = OfBoth<kSecond>(rows.scaled_sums + kSumOf<Codec, kHalf> * rows.stride);
#pragma GCC unroll 4
  for (int p = 0; p < kPairs; ++p) {
    const float32x4_t scaled_dot = vmulq_f32(vcvtq_f32_s32(dots[p]), scale);
    float32x4_t sum = vfmaq_f32(sums[p], scaled_dot, weights.scale[kHalf][p]);
    if constexpr (Codec::kHasMin) sum = vfmaq_f32(sum, weights.min[kHalf][p], scaled);
    sums[p] = sum;
  }
}

template <typename Codec, int kSecond>
QUIRE_INLINE void AddBlock(const PairedWeights& weights, const RowBlock& rows, float32x4_t* sums) {
  if constexpr (Codec::kHalves) {
    AddSub<Codec, kSecond, 0, 1>(weights, rows, sums);
    AddSub<Codec, kSecond, 1, 1>(weights, rows, sums);
  } else {
    AddSub<Codec, kSecond, 0, 2>(weights, rows, sums);
  }
}

// Row 0 or row 1 of two pairs of outputs.
QUIRE_INLINE float32x4_t RowOf(int row, float32x4_t a, float32x4_t b) {
  const float64x2_t x = vreinterpretq_f64_f32(a), y = vreinterpretq_f64_f32(b);
  return vreinterpretq_f32_f64(row == 0 ? vzip1q_f64(x, y) : vzip2q_f64(x, y));
}

QUIRE_INLINE void StorePair(const MatmulQuantArgs& args, std::int64_t tile, std::int64_t row,
                            const float32x4_t* sums) {
  for (int i = 0; i < 2 && row + i < args.rows; ++i) {
    const float32x4_t of_row[2] = {RowOf(i, sums[0], sums[1]), RowOf(i, sums[2], sums[3])};
    StoreSums(args, tile, row + i, of_row);
  }
}

template <typename Codec>
void MultiplyPairs(const MatmulQuantArgs& args, std::int64_t tile) {
  const TileReader<Codec, kTile> reader(args, tile);
  float32x4_t sums[kPanelRows / 2][kPairs];
  for (std::int64_t r = 0; r < args.rows; r += 2) {
    for (float32x4_t& sum : sums[r / 2]) sum = vdupq_n_f32(0.0F);
  }
  for (std::int64_t b = 0; b < args.blocks; ++b) {
    Weights weights;
    reader.Load(b, weights);
    PairedWeights paired;
    Pair<Codec>(weights, paired);
    RowBlock rows = RowsAt(args, b, 0);
    std::int64_t r = 0;
    for (; r + 2 <= args.rows; r += 2, rows.Skip(2)) {
      AddBlock<Codec, 1>(paired, rows, sums[r / 2]);
    }
    if (r < args.rows) AddBlock<Codec, 0>(paired, rows, sums[r / 2]);
  }
  for (std::int64_t r = 0; r < args.rows; r += 2) StorePair(args, tile, r, sums[r / 2]);
}

template <typename Codec>
struct MatrixKernel {
  static void Matmul(const MatmulQuantArgs& args) {
    for (std::int64_t tile = 0; tile * kTile < args.outputs; ++tile) {
      if (args.rows == 1) {
        MultiplyRow<DotProduct, Codec>(args, tile);
      } else {
        MultiplyPairs<Codec>(args, tile);
      }
    }
  }
};

}  // namespace

void FillNeonI8mmMatmulQuant(CpuTable& table) { SetMatmulQuant<MatrixKernel>(table); }

}  // namespace quire::kernels
