// Products with int8 activations on tiles of 16 outputs, one output per lane.
//
// A block of weights is decoded into eight registers once and then meets every row of the panel:
// four values of a row, broadcast, times four values of each output in one dpbusd. Lanes never mix,
// so nothing is folded at the end, and one row or sixty-four run through the same instructions.
#include <immintrin.h>

#include "kernels/avx512/tile_codecs.h"
#include "kernels/fill.h"
#include "kernels/matmul.h"
#include "kernels/table.h"

namespace quire::kernels {
namespace {

constexpr int kTile = 16;

using Quad [[gnu::may_alias, gnu::aligned(1)]] = std::int32_t;  // four codes as one lane

// What a row of the panel has for one block.
struct RowBlock {
  const std::int8_t* codes;
  float scale;
  const std::int32_t* negative_sums;  // [3], `stride` apart
  const float* scaled_sums;           // likewise
  std::int64_t stride;
};

template <typename Codec, int kHalf>
QUIRE_INLINE __m512i Start(const RowBlock& row) {
  if constexpr (Codec::kOffsetBits < 0) {
    return _mm512_setzero_si512();
  } else {
    const int which = Codec::kHalves ? kHalf : 2;
    return _mm512_slli_epi32(_mm512_set1_epi32(row.negative_sums[which * row.stride]),
                             Codec::kOffsetBits);
  }
}

// sum += the products of groups [kBegin, kEnd), which are a sub-block.
template <typename Codec, int kHalf, int kBegin, int kEnd>
QUIRE_INLINE __m512 AddSub(const Weights& weights, const RowBlock& row, __m512 sum) {
  const Quad* x = reinterpret_cast<const Quad*>(row.codes);
  __m512i dot = Start<Codec, kHalf>(row);
#pragma GCC unroll 8
  for (int g = kBegin; g < kEnd; ++g) {
    dot = _mm512_dpbusd_epi32(dot, weights.codes[g], _mm512_set1_epi32(x[g]));
  }
  const __m512 scale = _mm512_mul_ps(weights.scale[kHalf], _mm512_set1_ps(row.scale));
  sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot), scale, sum);
  if constexpr (Codec::kHasMin) {
    const int which = Codec::kHalves ? kHalf : 2;
    sum = _mm512_fmadd_ps(weights.min[kHalf], _mm512_set1_ps(row.scaled_sums[which * row.stride]),
                          sum);
  }
  return sum;
}

template <typename Codec>
QUIRE_INLINE __m512 AddBlock(const Weights& weights, const RowBlock& row, __m512 sum) {
  if constexpr (Codec::kHalves) {
    sum = AddSub<Codec, 0, 0, 4>(weights, row, sum);
    return AddSub<Codec, 1, 4, 8>(weights, row, sum);
  } else {
    return AddSub<Codec, 0, 0, 8>(weights, row, sum);
  }
}

QUIRE_INLINE RowBlock RowAt(const MatmulQuantArgs& args, std::int64_t block, std::int64_t row) {
  return {args.x.codes + (block * args.rows + row) * kQuantValues,
          args.x.scales[block * args.rows + row],
          args.x.negative_sums + 3 * block * args.rows + row,
          args.x.scaled_sums + 3 * block * args.rows + row, args.rows};
}

template <typename Codec>
class TileReader {
 public:
  TileReader(const MatmulQuantArgs& args, std::int64_t tile) {
    const std::int64_t code_bytes = args.blocks * Codec::kFormat.code_bytes * kTile;
    const std::int64_t scale_bytes =
        args.blocks / Codec::kBlocksEach * Codec::kFormat.scale_bytes * kTile;
    const std::int64_t tile_bytes = (code_bytes + scale_bytes + 63) / 64 * 64;
    codes_ = reinterpret_cast<const std::uint8_t*>(args.tiles) + tile * tile_bytes;
    scales_ = codes_ + code_bytes;
  }
  QUIRE_INLINE void Load(std::int64_t block, Weights& out) const {
    Codec::Load(codes_ + block * Codec::kFormat.code_bytes * kTile,
                scales_ + block / Codec::kBlocksEach * Codec::kFormat.scale_bytes * kTile,
                static_cast<int>(block % Codec::kBlocksEach), out);
  }

 private:
  const std::uint8_t* codes_;
  const std::uint8_t* scales_;
};

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

// One row: the sum stays in a register.
template <typename Codec>
void MultiplyRow(const MatmulQuantArgs& args, std::int64_t tile) {
  const TileReader<Codec> reader(args, tile);
  __m512 sum = _mm512_setzero_ps();
  for (std::int64_t b = 0; b < args.blocks; ++b) {
    Weights weights;
    reader.Load(b, weights);
    sum = AddBlock<Codec>(weights, RowAt(args, b, 0), sum);
  }
  StoreSums(args, tile, 0, sum);
}

// Many rows: the decoded block stays in registers, the sums are in the first-level cache.
template <typename Codec>
void MultiplyRows(const MatmulQuantArgs& args, std::int64_t tile) {
  const TileReader<Codec> reader(args, tile);
  __m512 sums[kPanelRows];
  for (std::int64_t r = 0; r < args.rows; ++r) sums[r] = _mm512_setzero_ps();
  for (std::int64_t b = 0; b < args.blocks; ++b) {
    Weights weights;
    reader.Load(b, weights);
    for (std::int64_t r = 0; r < args.rows; ++r) {
      sums[r] = AddBlock<Codec>(weights, RowAt(args, b, r), sums[r]);
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

void FillAvx512MatmulQuant(CpuTable& table) {
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
