// Products with int8 activations on tiles of 8 outputs, one output per lane.
//
// A block of weights is decoded into eight registers once and then meets every row of the panel:
// four values of a row, broadcast, times four values of each output give two 16-bit sums per
// output. Those of several groups are added in 16 bits as long as the codes' range proves that none
// overflows, then widened to 32. Lanes never mix, so nothing is folded at the end. A block that
// meets many rows keeps the processor from looking ahead, so blocks are asked for ahead of time.
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

// The dot product's start: minus what the weights' offset adds to it.
template <typename Codec, int kHalf>
QUIRE_INLINE __m256i Start(const RowBlock& row) {
  if constexpr (Codec::kOffsetBits < 0) {
    return _mm256_setzero_si256();
  } else {
    constexpr int kWhich = Codec::kHalves ? kHalf : 2;
    return _mm256_slli_epi32(_mm256_set1_epi32(row.negative_sums[kWhich * row.stride]),
                             Codec::kOffsetBits);
  }
}

// Pair sums of one group in 16 bits: two products of at most kMaxCode * 127.
template <typename Codec>
QUIRE_INLINE __m256i PairSums(__m256i codes, std::int32_t quad) {
  const __m256i x = _mm256_set1_epi32(quad);
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

// The sum after the products of groups [kBegin, kEnd), which are a sub-block.
template <typename Codec, int kHalf, int kBegin, int kEnd>
QUIRE_INLINE __m256 AddSub(const Weights& weights, const RowBlock& row, __m256 sum) {
  constexpr int kTogether = PairsTogether<Codec>();
  static_assert(2 * Codec::kMaxCode * 127 <= 32767);
  const Quad* x = reinterpret_cast<const Quad*>(row.codes);
  __m256i dot = Start<Codec, kHalf>(row);
#pragma GCC unroll 8
  for (int g = kBegin; g < kEnd; g += kTogether) {
    __m256i pairs = PairSums<Codec>(weights.codes[g], x[g]);
#pragma GCC unroll 8
    for (int i = 1; i < kTogether; ++i) {
      pairs = _mm256_add_epi16(pairs, PairSums<Codec>(weights.codes[g + i], x[g + i]));
    }
    dot = _mm256_add_epi32(dot, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  const __m256 scaled_dot = _mm256_mul_ps(_mm256_cvtepi32_ps(dot), _mm256_set1_ps(*row.scales));
  sum = _mm256_fmadd_ps(scaled_dot, weights.scale[kHalf], sum);
  if constexpr (Codec::kHasMin) {
    constexpr int kWhich = Codec::kHalves ? kHalf : 2;
    const __m256 scaled = _mm256_set1_ps(row.scaled_sums[kWhich * row.stride]);
    sum = _mm256_fmadd_ps(weights.min[kHalf], scaled, sum);
  }
  return sum;
}

template <typename Codec>
QUIRE_INLINE __m256 AddBlock(const Weights& weights, const RowBlock& row, __m256 sum) {
  if constexpr (Codec::kHalves) {
    sum = AddSub<Codec, 0, 0, 4>(weights, row, sum);
    return AddSub<Codec, 1, 4, 8>(weights, row, sum);
  } else {
    return AddSub<Codec, 0, 0, 8>(weights, row, sum);
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

// One row: the sum stays in a register.
template <typename Codec>
void MultiplyRow(const MatmulQuantArgs& args, std::int64_t tile) {
  const TileReader<Codec, kTile> reader(args, tile);
  __m256 sum = _mm256_setzero_ps();
  for (std::int64_t b = 0; b < args.blocks; ++b) {
    Weights weights;
    reader.Load(b, weights);
    sum = AddBlock<Codec>(weights, RowsAt(args, b, 0), sum);
  }
  StoreSums(args, tile, 0, sum);
}

// Many rows: the decoded block stays in registers, the sums are in the first-level cache.
template <typename Codec>
void MultiplyRows(const MatmulQuantArgs& args, std::int64_t tile) {
  const TileReader<Codec, kTile> reader(args, tile);
  __m256 sums[kPanelRows];
  for (std::int64_t r = 0; r < args.rows; ++r) sums[r] = _mm256_setzero_ps();
  for (std::int64_t b = 0; b < args.blocks; ++b) {
    Weights weights;
    reader.Load(b, weights);
    if (args.rows >= kManyRows) reader.Prefetch(b + kAheadOfMany);
    for (std::int64_t r = 0; r < args.rows; ++r) {
      sums[r] = AddBlock<Codec>(weights, RowsAt(args, b, r), sums[r]);
    }
  }
  for (std::int64_t r = 0; r < args.rows; ++r) StoreSums(args, tile, r, sums[r]);
}

template <typename Codec>
void Matmul(const MatmulQuantArgs& args) {
  for (std::int64_t tile = 0; tile * kTile < args.outputs; ++tile) {
    if (args.rows == 1) {
      MultiplyRow<Codec>(args, tile);
    } else {
      MultiplyRows<Codec>(args, tile);
    }
  }
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
