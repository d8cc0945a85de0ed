// Products with int8 activations on tiles of 8 outputs, one output per lane.
//
// A block of weights is decoded once and then meets every row of the panel: four values of a row,
// broadcast, times four values of each output give two 16-bit sums per output. Those of several
// groups are added in 16 bits as long as the codes' range proves that none overflows, then widened
// to 32. Lanes never mix, so nothing is folded at the end. Half a block of two tiles is what the
// registers hold, so the rows pass by twice and each broadcast serves both tiles. A block that
// meets many rows keeps the processor from looking ahead, so blocks are asked for ahead of time.
#include <algorithm>

#include <immintrin.h>

#include "kernels/avx2/tile_lanes.h"
#include "kernels/fill.h"
#include "kernels/matmul.h"
#include "kernels/table.h"
#include "kernels/wide/row_block.h"
#include "kernels/wide/tile_codecs_body.h"
#include "kernels/wide/tile_reader.h"

namespace quire::kernels {
namespace {

// With so many rows a block is asked for while the one so far before it is at hand.
constexpr std::int64_t kManyRows = 8;
constexpr std::int64_t kAheadOfMany = 16;

using Quad [[gnu::may_alias, gnu::aligned(1)]] = std::int32_t;  // four codes as one lane

// Minus what the weights' offset adds to the dot product of row r.
template <typename Codec, int kSub>
QUIRE_INLINE __m256i Start(const RowBlock& rows, std::int64_t r) {
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

// How many pair sums fit 16 bits together: a power of two, at most a sub-block's groups.
template <typename Codec>
constexpr int PairsTogether() {
  int count = Codec::kHalves ? 4 : 8;
  while (count > 1 && count * 2 * Codec::kMaxCode * 127 > 32767) count /= 2;
  return count;
}

// Whether the sums of a whole block fit 16 bits.
template <typename Codec>
constexpr bool kInShorts = PairsTogether<Codec>() == 8;

QUIRE_INLINE __m256i Widen(__m256i pairs) { return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)); }

// Four groups of a block's codes.
using HalfCodes = __m256i[4];

// dots += the sums of four groups of codes of each tile with four of a row's quads: in 16 bits
// where kInShorts, else in 32.
template <typename Codec, int kTiles>
QUIRE_INLINE void AddGroups(const HalfCodes* codes, const Quad* x, __m256i* dots) {
  constexpr int kTogether = std::min(PairsTogether<Codec>(), 4);
  static_assert(2 * Codec::kMaxCode * 127 <= 32767);
#pragma GCC unroll 4
  for (int g = 0; g < 4; g += kTogether) {
    __m256i pairs[kTiles];
#pragma GCC unroll 4
    for (int i = 0; i < kTogether; ++i) {
      const __m256i quad = _mm256_set1_epi32(x[g + i]);
#pragma GCC unroll 2
      for (int t = 0; t < kTiles; ++t) {
        const __m256i sums = PairSums<Codec>(codes[t][g + i], quad);
        pairs[t] = i == 0 ? sums : _mm256_add_epi16(pairs[t], sums);
      }
    }
#pragma GCC unroll 2
    for (int t = 0; t < kTiles; ++t) {
      dots[t] = kInShorts<Codec> ? _mm256_add_epi16(dots[t], pairs[t])
                                 : _mm256_add_epi32(dots[t], Widen(pairs[t]));
    }
  }
}

// sum += the whole dot product of a sub-block of a tile, scaled.
template <typename Codec, int kSub>
QUIRE_INLINE __m256 AddDot(const Weights& weights, const RowBlock& rows, std::int64_t r,
                           __m256i dot, __m256 sum) {
  if constexpr (kInShorts<Codec>) dot = _mm256_add_epi32(Widen(dot), Start<Codec, kSub>(rows, r));
  const __m256 scaled_dot = _mm256_mul_ps(_mm256_cvtepi32_ps(dot), _mm256_set1_ps(rows.scales[r]));
  sum = _mm256_fmadd_ps(scaled_dot, weights.scale[kSub], sum);
  if constexpr (Codec::kHasMin) {
    constexpr int kWhich = Codec::kHalves ? kSub : 2;
    const __m256 scaled = _mm256_set1_ps(rows.scaled_sums[kWhich * rows.stride + r]);
    sum = _mm256_fmadd_ps(weights.min[kSub], scaled, sum);
  }
  return sum;
}

// What each row has of each of kTiles tiles: the sums so far, and the dot products of the
// first half of a block where it is no sub-block of its own.
template <int kTiles>
struct RowSums {
  __m256 sums[kPanelRows][kTiles];
  __m256i dots[kPanelRows][kTiles];
};

// Half kHalf of a block's groups for all rows.
template <typename Codec, int kTiles, int kHalf>
QUIRE_INLINE void AddHalf(const Weights* weights, const RowBlock& rows, std::int64_t count,
                          RowSums<kTiles>& all) {
  constexpr int kSub = Codec::kHalves && kHalf == 1 ? 1 : 0;
  constexpr bool kBegins = kHalf == 0 || Codec::kHalves;
  constexpr bool kEnds = kHalf == 1 || Codec::kHalves;
  HalfCodes codes[kTiles];
#pragma GCC unroll 2
  for (int t = 0; t < kTiles; ++t) {
#pragma GCC unroll 4
    for (int g = 0; g < 4; ++g) codes[t][g] = weights[t].codes[4 * kHalf + g];
  }
  const Quad* x = reinterpret_cast<const Quad*>(rows.codes) + 4 * kHalf;
  for (std::int64_t r = 0; r < count; ++r, x += 8) {
    __m256i dots[kTiles];
#pragma GCC unroll 2
    for (int t = 0; t < kTiles; ++t) {
      if constexpr (!kBegins) {
        dots[t] = all.dots[r][t];
      } else {
        dots[t] = kInShorts<Codec> ? _mm256_setzero_si256() : Start<Codec, kSub>(rows, r);
      }
    }
    AddGroups<Codec, kTiles>(codes, x, dots);
#pragma GCC unroll 2
    for (int t = 0; t < kTiles; ++t) {
      if constexpr (kEnds) {
        all.sums[r][t] = AddDot<Codec, kSub>(weights[t], rows, r, dots[t], all.sums[r][t]);
      } else {
        all.dots[r][t] = dots[t];
      }
    }
  }
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

template <typename Codec, int kTiles>
void MultiplyTiles(const MatmulQuantArgs& args, std::int64_t tile) {
  RowSums<kTiles> all;
  for (std::int64_t r = 0; r < args.rows; ++r) {
    for (int t = 0; t < kTiles; ++t) all.sums[r][t] = _mm256_setzero_ps();
  }
  for (std::int64_t b = 0; b < args.blocks; ++b) {
    Weights weights[kTiles];
    for (int t = 0; t < kTiles; ++t) TileReader<Codec, kTile>(args, tile + t).Load(b, weights[t]);
    if (args.rows >= kManyRows) {
      PrefetchTiles<Codec, kTile, kTiles>(args, tile, b + kAheadOfMany);
    }
    const RowBlock rows = RowsAt(args, b, 0);
    AddHalf<Codec, kTiles, 0>(weights, rows, args.rows, all);
    AddHalf<Codec, kTiles, 1>(weights, rows, args.rows, all);
  }
  for (std::int64_t r = 0; r < args.rows; ++r) {
    for (int t = 0; t < kTiles; ++t) StoreSums(args, tile + t, r, all.sums[r][t]);
  }
}

// One row: its sum stays in a register, and all of a block too.
template <typename Codec>
void MultiplyRow(const MatmulQuantArgs& args, std::int64_t tile) {
  constexpr int kLastSub = Codec::kHalves ? 1 : 0;
  const TileReader<Codec, kTile> reader(args, tile);
  __m256 sum = _mm256_setzero_ps();
  for (std::int64_t b = 0; b < args.blocks; ++b) {
    Weights weights;
    reader.Load(b, weights);
    const RowBlock row = RowsAt(args, b, 0);
    const Quad* x = reinterpret_cast<const Quad*>(row.codes);
    const auto* halves = reinterpret_cast<const HalfCodes*>(weights.codes);  // two, side by side
    __m256i dot = kInShorts<Codec> ? _mm256_setzero_si256() : Start<Codec, 0>(row, 0);
    AddGroups<Codec, 1>(halves, x, &dot);
    if constexpr (Codec::kHalves) {
      sum = AddDot<Codec, 0>(weights, row, 0, dot, sum);
      dot = Start<Codec, 1>(row, 0);
    }
    AddGroups<Codec, 1>(halves + 1, x + 4, &dot);
    sum = AddDot<Codec, kLastSub>(weights, row, 0, dot, sum);
  }
  StoreSums(args, tile, 0, sum);
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
