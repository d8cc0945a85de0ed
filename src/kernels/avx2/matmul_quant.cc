// Products with int8 activations on tiles of 8 outputs, one output per lane.
//
// A block of weights is decoded once and then meets every row of the panel: four values of a row,
// broadcast, times four values of each output give two 16-bit sums per output. Those of several
// groups are added in 16 bits as long as the codes' range proves that none overflows, then widened
// to 32. Lanes never mix, so nothing is folded at the end. Two tiles meet up to four rows at once,
// whose pair sums stay in registers, so that a broadcast serves two tiles and a load of codes
// four rows. Blocks, and the lines of many outputs, are asked of memory ahead of time.
#include <immintrin.h>

#include "kernels/avx2/tile_lanes.h"
#include "kernels/fill.h"
#include "kernels/matmul.h"
#include "kernels/table.h"
#include "kernels/wide/outputs.h"
#include "kernels/wide/row_block.h"
#include "kernels/wide/tile_codecs_body.h"
#include "kernels/wide/tile_reader.h"

namespace quire::kernels {
namespace {

// Blocks from the one at hand to the one that is asked of memory, for one row too: on Zen 3, which
// has AVX2 alone, that reads Q4_0 by 22 % faster (docs/performance.md).
constexpr std::int64_t kAhead = 16;

using Quad [[gnu::may_alias, gnu::aligned(1)]] = std::int32_t;  // four codes as one lane

// Minus what the weights' offset adds to the dot product of row r.
template <typename Codec, int kSub>
QUIRE_INLINE __m256i Start(const RowBlock& rows, int r) {
  if constexpr (Codec::kOffsetBits < 0) {
    return _mm256_setzero_si256();
  } else {
    constexpr int kWhich = Codec::kHalves ? kSub : 2;
    return _mm256_slli_epi32(_mm256_set1_epi32(rows.negative_sums[kWhich * rows.stride + r]),
                             Codec::kOffsetBits);
  }
}

// Pair sums of one group in 16 bits: two products of at most kMaxCode * 127.
template <typename Codec>
QUIRE_INLINE __m256i PairSums(__m256i codes, __m256i x) {
  if constexpr (Codec::kIsSigned) {
    return _mm256_maddubs_epi16(_mm256_abs_epi8(codes), _mm256_sign_epi8(x, codes));
  } else {
    return _mm256_maddubs_epi16(codes, x);
  }
}

// Groups of a sub-block, and how many of their pair sums fit 16 bits together: a power of two.
template <typename Codec>
constexpr int kGroups = Codec::kHalves ? 4 : 8;
template <typename Codec>
constexpr int PairsTogether() {
  int count = kGroups<Codec>;
  while (count > 1 && count * 2 * Codec::kMaxCode * 127 > 32767) count /= 2;
  return count;
}

// Rows that meet two tiles at once: the registers hold their pair sums, and the 32-bit sums where
// pair sums are widened before the sub-block ends. More rows gain nothing.
template <typename Codec>
constexpr int kRowsAtOnce = PairsTogether<Codec>() == kGroups<Codec> ? 4 : 3;

QUIRE_INLINE __m256i Widen(__m256i pairs) { return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)); }

template <int kTiles, int kRows>
using Sums = __m256[kRows][kTiles];

// sum += a dot product, scaled by the row's scale and a tile's.
template <typename Codec, int kHalf>
QUIRE_INLINE __m256 AddDot(const Weights& weights, const RowBlock& rows, int r, __m256i dot,
                           __m256 sum) {
  const __m256 scaled_dot = _mm256_mul_ps(_mm256_cvtepi32_ps(dot), _mm256_set1_ps(rows.scales[r]));
  sum = _mm256_fmadd_ps(scaled_dot, weights.scale[kHalf], sum);
  if constexpr (Codec::kHasMin) {
    constexpr int kWhich = Codec::kHalves ? kHalf : 2;
    const __m256 scaled = _mm256_set1_ps(rows.scaled_sums[kWhich * rows.stride + r]);
    sum = _mm256_fmadd_ps(weights.min[kHalf], scaled, sum);
  }
  return sum;
}

// sums += the products of a sub-block, half kHalf of the block or all of it, for kTiles tiles.
template <typename Codec, int kTiles, int kRows, int kHalf>
QUIRE_INLINE void AddSub(const Weights* weights, const RowBlock& rows, Sums<kTiles, kRows>& sums) {
  constexpr int kBegin = kHalf * 4, kTogether = PairsTogether<Codec>();
  static_assert(2 * Codec::kMaxCode * 127 <= 32767);
  const Quad* x = reinterpret_cast<const Quad*>(rows.codes);
  __m256i dots[kRows][kTiles];
#pragma GCC unroll 8
  for (int g = kBegin; g < kBegin + kGroups<Codec>; g += kTogether) {
    __m256i pairs[kRows][kTiles];
#pragma GCC unroll 8
    for (int i = g; i < g + kTogether; ++i) {
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const __m256i quad = _mm256_set1_epi32(x[8 * r + i]);
#pragma GCC unroll 2
        for (int t = 0; t < kTiles; ++t) {
          const __m256i sum = PairSums<Codec>(weights[t].codes[i], quad);
          pairs[r][t] = i == g ? sum : _mm256_add_epi16(pairs[r][t], sum);
        }
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int t = 0; t < kTiles; ++t) {
        const __m256i before = g == kBegin ? Start<Codec, kHalf>(rows, r) : dots[r][t];
        dots[r][t] = _mm256_add_epi32(before, Widen(pairs[r][t]));
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int t = 0; t < kTiles; ++t) {
      sums[r][t] = AddDot<Codec, kHalf>(weights[t], rows, r, dots[r][t], sums[r][t]);
    }
  }
}

template <typename Codec, int kTiles, int kRows>
QUIRE_INLINE void AddBlock(const Weights* weights, const RowBlock& rows,
                           Sums<kTiles, kRows>& sums) {
  AddSub<Codec, kTiles, kRows, 0>(weights, rows, sums);
  if constexpr (Codec::kHalves) AddSub<Codec, kTiles, kRows, 1>(weights, rows, sums);
}

QUIRE_INLINE void StoreSums(const MatmulQuantArgs& args, std::int64_t tile, std::int64_t row,
                            __m256 sum) {
  const std::int64_t first = tile * kTile;
  const std::int64_t count = args.outputs - first < kTile ? args.outputs - first : kTile;
  const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                                          _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  float* out = args.out + row * args.out_stride + first;
  if (args.bias != nullptr) sum = _mm256_add_ps(sum, _mm256_maskload_ps(args.bias + first, mask));
  if (args.accumulate) sum = _mm256_add_ps(_mm256_maskload_ps(out, mask), sum);
  if (count == kTile) {
    _mm256_storeu_ps(out, sum);
  } else {
    _mm256_maskstore_ps(out, mask, sum);
  }
}

// sums of rows [row, row + kRows) += their products with one block of kTiles tiles.
template <typename Codec, int kTiles, int kRows>
QUIRE_INLINE void AddRows(const MatmulQuantArgs& args, const Weights* weights, std::int64_t block,
                          std::int64_t row, __m256 (*sums)[kTiles]) {
  auto& group = *reinterpret_cast<Sums<kTiles, kRows>*>(sums + row);
  // What many rows read of a block comes from the first cache: copies of it kept from one group of
  // rows to the next would push pair sums out of the registers.
  asm volatile("" : "+r"(weights));
  AddBlock<Codec, kTiles, kRows>(weights, RowsAt(args, block, row), group);
}

template <typename Codec, int kTiles>
void MultiplyTiles(const MatmulQuantArgs& args, std::int64_t tile) {
  constexpr int kRows = kRowsAtOnce<Codec>;
  __m256 sums[kPanelRows][kTiles];
  for (std::int64_t r = 0; r < args.rows; ++r) {
    for (int t = 0; t < kTiles; ++t) sums[r][t] = _mm256_setzero_ps();
  }
  const bool past_caches = GoesPastCaches(args);
  OutputsAhead<kTiles> outputs(args, tile, past_caches);
  for (std::int64_t b = 0; b < args.blocks; ++b) {
    outputs.AskForSome();
    Weights weights[kTiles];
    for (int t = 0; t < kTiles; ++t) TileReader<Codec, kTile>(args, tile + t).Load(b, weights[t]);
    PrefetchTiles<Codec, kTile, kTiles>(args, tile, b + kAhead);
    std::int64_t r = 0;
    for (; r + kRows <= args.rows; r += kRows) {
      AddRows<Codec, kTiles, kRows>(args, weights, b, r, sums);
    }
    const std::int64_t left = args.rows - r;
    if constexpr (kRows == 4) {
      if (left == 3) AddRows<Codec, kTiles, 3>(args, weights, b, r, sums);
    }
    if (left == 2) AddRows<Codec, kTiles, 2>(args, weights, b, r, sums);
    if (left == 1) AddRows<Codec, kTiles, 1>(args, weights, b, r, sums);
  }
  if (past_caches) return StorePastCaches<kTiles>(args, tile, sums);
  for (std::int64_t r = 0; r < args.rows; ++r) {
    for (int t = 0; t < kTiles; ++t) StoreSums(args, tile + t, r, sums[r][t]);
  }
}

// One row: its sum stays in a register, and all of a block too.
template <typename Codec>
void MultiplyRow(const MatmulQuantArgs& args, std::int64_t tile) {
  const TileReader<Codec, kTile> reader(args, tile);
  Sums<1, 1> sum = {};
  for (std::int64_t b = 0; b < args.blocks; ++b) {
    Weights weights;
    reader.Load(b, weights);
    reader.Prefetch(b + kAhead);
    AddBlock<Codec, 1, 1>(&weights, RowsAt(args, b, 0), sum);
  }
  StoreSums(args, tile, 0, sum[0][0]);
}

template <typename Codec>
void Matmul(const MatmulQuantArgs& args) {
  const std::int64_t tiles = (args.outputs + kTile - 1) / kTile;
  std::int64_t tile = 0;
  if (args.rows == 1) {
    for (; tile < tiles; ++tile) MultiplyRow<Codec>(args, tile);
  }
  for (; tile + 2 <= tiles; tile += 2) MultiplyTiles<Codec, 2>(args, tile);
  if (tile < tiles) MultiplyTiles<Codec, 1>(args, tile);
}

}  // namespace

void FillAvx2MatmulQuant(CpuTable& table) {
  const auto set = [&table](DType type, MatmulQuantFn matmul) {
    table.quant[static_cast<int>(type)].matmul = matmul;
  };
  set(DType::kQ4_0, Matmul<TileQ4Zero>);
  set(DType::kQ4_1, Matmul<TileQ4One>);
  set(DType::kQ5_0, Matmul<TileQ5Zero>);
  set(DType::kQ5_1, Matmul<TileQ5One>);
  set(DType::kQ8_0, Matmul<TileQ8Zero>);
  set(DType::kQ2_K, Matmul<TileQ2K>);
  set(DType::kQ3_K, Matmul<TileQ3K>);
  set(DType::kQ4_K, Matmul<TileQ4K>);
  set(DType::kQ5_K, Matmul<TileQ5K>);
  set(DType::kQ6_K, Matmul<TileQ6K>);
  set(DType::kIQ4_NL, Matmul<TileIq4Nl>);
  set(DType::kIQ4_XS, Matmul<TileIq4Xs>);
  set(DType::kMXFP4, Matmul<TileMxfp4>);
}

}  // namespace quire::kernels
