// Products with int8 activations on tiles of 16 outputs, one output per lane.
//
// A block of weights is decoded into eight registers once and then meets every row of the panel:
// four values of a row, broadcast, times four values of each output in one dpbusd. Lanes never mix,
// so nothing is folded at the end, and one row or sixty-four run through the same instructions. Up
// to six rows keep their sums in registers; those of more are in the first-level cache.
//
// A block meets many rows before the next one is read, longer than the processor looks ahead, and
// tiles end before its own prefetcher is under way: so blocks are asked for ahead of time.
#include <immintrin.h>

#include "kernels/avx512/tile_lanes.h"
#include "kernels/fill.h"
#include "kernels/matmul.h"
#include "kernels/table.h"
#include "kernels/wide/outputs.h"
#include "kernels/wide/row_block.h"
#include "kernels/wide/tile_codecs_body.h"
#include "kernels/wide/tile_reader.h"

namespace quire::kernels {
namespace {

using Quad [[gnu::may_alias, gnu::aligned(1)]] = std::int32_t;  // four codes as one lane

// Rows that meet a register of weights one after another, so that the four cycles of a dpbusd are
// filled by the other three.
constexpr int kRowsAtOnce = 4;
// Rows whose sums all stay in registers beside a decoded block.
constexpr int kFewRows = 6;

// Blocks from the one at hand to the one that is asked of memory. Those that few rows meet go by
// faster.
constexpr std::int64_t kAheadOfMany = 4;
constexpr std::int64_t kAheadOfFew = 32;

// How a dot product becomes a float times the scale of row r. Both ways are exact, for the second
// is taken where scales have five bits: they give the same bits.
class ByMultiplying {
 public:
  ByMultiplying(const RowBlock& rows, int r) : scale_(_mm512_set1_ps(rows.scales[r])) {}
  static __m512i Start(const RowBlock&, int) { return _mm512_setzero_si512(); }
  __m512 operator()(__m512i dot) const { return _mm512_mul_ps(_mm512_cvtepi32_ps(dot), scale_); }

 private:
  __m512 scale_;
};

// Takes no slot from dpbusd where additions have units of their own.
class ByAdding {
 public:
  ByAdding(const RowBlock& rows, int r)
      : step_(_mm512_set1_epi32(rows.parts[rows.stride + r])),
        both_(_mm512_add_ps(_mm512_castsi512_ps(Start(rows, r)),
                            _mm512_castsi512_ps(_mm512_add_epi32(Start(rows, r), step_)))) {}
  static __m512i Start(const RowBlock& rows, int r) { return _mm512_set1_epi32(rows.parts[r]); }
  __m512 operator()(__m512i dot) const {
    const __m512 second = _mm512_castsi512_ps(_mm512_add_epi32(dot, step_));
    return _mm512_add_ps(_mm512_sub_ps(_mm512_castsi512_ps(dot), both_), second);
  }

 private:
  __m512i step_;
  __m512 both_;  // what stands beside the dot product in both parts
};

// The dot product's start: minus what the weights' offset adds to it.
template <typename Codec, typename Scaling, int kHalf>
QUIRE_INLINE __m512i Start(const RowBlock& rows, int r) {
  const __m512i start = Scaling::Start(rows, r);
  if constexpr (Codec::kOffsetBits < 0) {
    return start;
  } else {
    constexpr int kWhich = Codec::kHalves ? kHalf : 2;
    const __m512i sum = _mm512_set1_epi32(rows.negative_sums[kWhich * rows.stride + r]);
    return _mm512_add_epi32(start, _mm512_slli_epi32(sum, Codec::kOffsetBits));
  }
}

template <int kTiles, int kRows>
using Sums = __m512[kRows][kTiles];

// sums += the products of a sub-block, half kHalf of the block or all of it, for kTiles tiles. A
// broadcast costs as much as a dpbusd, so one serves all tiles.
template <typename Codec, typename Scaling, int kTiles, int kRows, int kHalf>
QUIRE_INLINE void AddSub(const Weights* weights, const RowBlock& rows, Sums<kTiles, kRows>& sums) {
  const Quad* x = reinterpret_cast<const Quad*>(rows.codes);
  constexpr int kBegin = kHalf * 4;
  constexpr int kEnd = Codec::kHalves ? kBegin + 4 : 8;
  __m512i dots[kRows][kTiles];
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int t = 0; t < kTiles; ++t) dots[r][t] = Start<Codec, Scaling, kHalf>(rows, r);
  }
#pragma GCC unroll 8
  for (int g = kBegin; g < kEnd; ++g) {
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      const __m512i quad = _mm512_set1_epi32(x[8 * r + g]);
#pragma GCC unroll 2
      for (int t = 0; t < kTiles; ++t) {
        dots[r][t] = _mm512_dpbusd_epi32(dots[r][t], weights[t].codes[g], quad);
      }
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
    const Scaling scaled_by_row(rows, r);
    constexpr int kWhich = Codec::kHalves ? kHalf : 2;
    const __m512 scaled = _mm512_set1_ps(rows.scaled_sums[kWhich * rows.stride + r]);
#pragma GCC unroll 2
    for (int t = 0; t < kTiles; ++t) {
      __m512 sum = _mm512_fmadd_ps(scaled_by_row(dots[r][t]), weights[t].scale[kHalf], sums[r][t]);
      if constexpr (Codec::kHasMin) sum = _mm512_fmadd_ps(weights[t].min[kHalf], scaled, sum);
      sums[r][t] = sum;
    }
  }
}

template <typename Codec, typename Scaling, int kTiles, int kRows>
QUIRE_INLINE void AddBlock(const Weights* weights, const RowBlock& rows,
                           Sums<kTiles, kRows>& sums) {
  AddSub<Codec, Scaling, kTiles, kRows, 0>(weights, rows, sums);
  if constexpr (Codec::kHalves) AddSub<Codec, Scaling, kTiles, kRows, 1>(weights, rows, sums);
}

QUIRE_INLINE void StoreSums(const MatmulQuantArgs& args, std::int64_t tile, std::int64_t row,
                            __m512 sum) {
  const std::int64_t first = tile * kTile;
  const std::int64_t count = args.outputs - first;
  const __mmask16 mask = count >= kTile ? 0xFFFF : static_cast<__mmask16>((1U << count) - 1);
  float* out = args.out + row * args.out_stride + first;
  if (args.bias != nullptr) {
    sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, args.bias + first));
  }
  if (args.accumulate) sum = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, out), sum);
  _mm512_mask_storeu_ps(out, mask, sum);
}

template <int kTiles, int kRows>
QUIRE_INLINE void StoreAll(const MatmulQuantArgs& args, std::int64_t tile, std::int64_t row,
                           const Sums<kTiles, kRows>& sums) {
  for (int r = 0; r < kRows; ++r) {
    for (int t = 0; t < kTiles; ++t) StoreSums(args, tile + t, row + r, sums[r][t]);
  }
}

// All of args.rows, which are kRows.
template <typename Codec, int kRows>
void MultiplyFew(const MatmulQuantArgs& args, std::int64_t tile) {
  const TileReader<Codec, kTile> reader(args, tile);
  Sums<1, kRows> sums = {};
  for (std::int64_t b = 0; b < args.blocks; ++b) {
    Weights weights;
    reader.Load(b, weights);
    // One row of a simple type waits for memory alone, which serves one stream best undisturbed.
    if constexpr (kRows > 1 || Codec::kBlocksEach > 1) reader.Prefetch(b + kAheadOfFew);
    AddBlock<Codec, ByMultiplying, 1, kRows>(&weights, RowsAt(args, b, 0), sums);
  }
  StoreAll<1, kRows>(args, tile, 0, sums);
}

// sums of rows [row, row + kRows) += their products with one block of kTiles tiles.
template <typename Codec, typename Scaling, int kTiles, int kRows>
QUIRE_INLINE void AddRows(const MatmulQuantArgs& args, const Weights* weights, std::int64_t block,
                          std::int64_t row, __m512 (*sums)[kTiles]) {
  auto& group = *reinterpret_cast<Sums<kTiles, kRows>*>(sums + row);
  AddBlock<Codec, Scaling, kTiles, kRows>(weights, RowsAt(args, block, row), group);
}

template <typename Codec, typename Scaling, int kTiles>
void MultiplyTiles(const MatmulQuantArgs& args, std::int64_t tile) {
  __m512 sums[kPanelRows][kTiles];
  for (std::int64_t r = 0; r < args.rows; ++r) {
    for (int t = 0; t < kTiles; ++t) sums[r][t] = _mm512_setzero_ps();
  }
  const bool past_caches = GoesPastCaches(args);
  OutputsAhead<kTiles> outputs(args, tile, past_caches);
  for (std::int64_t b = 0; b < args.blocks; ++b) {
    outputs.AskForSome();
    Weights weights[kTiles];
#pragma GCC unroll 2
    for (int t = 0; t < kTiles; ++t) TileReader<Codec, kTile>(args, tile + t).Load(b, weights[t]);
    PrefetchTiles<Codec, kTile, kTiles>(args, tile, b + kAheadOfMany);
    std::int64_t r = 0;
    for (; r + kRowsAtOnce <= args.rows; r += kRowsAtOnce) {
      AddRows<Codec, Scaling, kTiles, kRowsAtOnce>(args, weights, b, r, sums);
    }
    const std::int64_t left = args.rows - r;
    if (left == 3) AddRows<Codec, Scaling, kTiles, 3>(args, weights, b, r, sums);
    if (left == 2) AddRows<Codec, Scaling, kTiles, 2>(args, weights, b, r, sums);
    if (left == 1) AddRows<Codec, Scaling, kTiles, 1>(args, weights, b, r, sums);
  }
  if (past_caches) return StorePastCaches<kTiles>(args, tile, sums);
  for (std::int64_t r = 0; r < args.rows; ++r) {
    for (int t = 0; t < kTiles; ++t) StoreSums(args, tile + t, r, sums[r][t]);
  }
}

// args.rows, which are at most kRows.
template <typename Codec, int kRows>
void MatmulFew(const MatmulQuantArgs& args, std::int64_t tiles) {
  if constexpr (kRows > 1) {
    if (args.rows < kRows) return MatmulFew<Codec, kRows - 1>(args, tiles);
  }
  for (std::int64_t tile = 0; tile < tiles; ++tile) MultiplyFew<Codec, kRows>(args, tile);
}

template <typename Codec, typename Scaling>
void Matmul(const MatmulQuantArgs& args) {
  const std::int64_t tiles = (args.outputs + kTile - 1) / kTile;
  if (args.rows <= kFewRows) return MatmulFew<Codec, kFewRows>(args, tiles);
  std::int64_t tile = 0;
  for (; tile + 2 <= tiles; tile += 2) MultiplyTiles<Codec, Scaling, 2>(args, tile);
  if (tile < tiles) MultiplyTiles<Codec, Scaling, 1>(args, tile);
}

template <typename Scaling>
void Fill(CpuTable& table) {
  const auto set = [&table](DType type, MatmulQuantFn matmul) {
    table.quant[static_cast<int>(type)].matmul = matmul;
  };
  set(DType::kQ4_0, Matmul<TileQ4Zero, Scaling>);
  set(DType::kQ4_1, Matmul<TileQ4One, Scaling>);
  set(DType::kQ5_0, Matmul<TileQ5Zero, Scaling>);
  set(DType::kQ5_1, Matmul<TileQ5One, Scaling>);
  set(DType::kQ8_0, Matmul<TileQ8Zero, Scaling>);
  set(DType::kQ2_K, Matmul<TileQ2K, Scaling>);
  set(DType::kQ3_K, Matmul<TileQ3K, Scaling>);
  set(DType::kQ4_K, Matmul<TileQ4K, Scaling>);
  set(DType::kQ5_K, Matmul<TileQ5K, Scaling>);
  set(DType::kQ6_K, Matmul<TileQ6K, Scaling>);
  set(DType::kIQ4_NL, Matmul<TileIq4Nl, Scaling>);
  set(DType::kIQ4_XS, Matmul<TileIq4Xs, Scaling>);
  set(DType::kMXFP4, Matmul<TileMxfp4, Scaling>);
}

}  // namespace

void FillAvx512MatmulQuant(CpuTable& table) {
  if (table.scale_rule == ScaleRule::kTwoPowers) {
    Fill<ByAdding>(table);
  } else {
    Fill<ByMultiplying>(table);
  }
}

}  // namespace quire::kernels
