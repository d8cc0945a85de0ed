// Products of bf16 weights with activations rounded to bf16.
//
// vdpbf16ps takes 32 values of depth a register, twice as many as an f32 product, and the weights
// as the checkpoint stores them, so nothing is repacked or widened. A tile of rows times outputs is
// summed at once, a register of 16 lanes each, over the whole depth: the order of an output's sum
// is the same in every tile. At the end the registers of four outputs fold together, halves of two
// in one, so that a fold costs a quarter and leaves the outputs side by side.
#include <immintrin.h>

#include "kernels/fill.h"
#include "kernels/table.h"
#include "kernels/wide/types.h"

namespace quire::kernels {
namespace {

constexpr int kDepth = 32;  // values of a register
constexpr int kRows = 6;    // of a tile: 24 sums, four weights and a row fill the registers
constexpr int kOutputs = 4;

QUIRE_INLINE __m512bh AsBf16(__m512i x) { return reinterpret_cast<__m512bh>(x); }

void RoundBf16(const float* x, std::int64_t n, std::uint16_t* out) {
  std::int64_t i = 0;
  for (; i + kDepth <= n; i += kDepth) {
    const __m512bh both = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + i + 16), _mm512_loadu_ps(x + i));
    _mm512_storeu_si512(out + i, reinterpret_cast<__m512i>(both));
  }
  for (; i < n; i += 16) {
    const auto mask = static_cast<__mmask16>(n - i >= 16 ? 0xFFFF : (1U << (n - i)) - 1);
    const __m256bh some = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, x + i));
    _mm256_mask_storeu_epi16(out + i, mask, reinterpret_cast<__m256i>(some));
  }
}

struct Tile {
  const std::uint16_t* x;
  std::int64_t x_stride;
  const std::uint16_t* weights;
  std::int64_t depth;
};

// Adds the products of kDepth values of depth from `i` on.
template <int kTileRows, int kTileOutputs, typename LoadAt>
QUIRE_INLINE void AddDepth(const Tile& tile, std::int64_t i, const LoadAt& load,
                           __m512 (&sums)[kTileRows][kTileOutputs]) {
  __m512bh w[kTileOutputs];
#pragma GCC unroll 4
  for (int o = 0; o < kTileOutputs; ++o) w[o] = load(tile.weights + o * tile.depth + i);
#pragma GCC unroll 6
  for (int r = 0; r < kTileRows; ++r) {
    const __m512bh x = load(tile.x + r * tile.x_stride + i);
#pragma GCC unroll 4
    for (int o = 0; o < kTileOutputs; ++o) sums[r][o] = _mm512_dpbf16_ps(sums[r][o], x, w[o]);
  }
}

template <int kTileRows, int kTileOutputs>
QUIRE_INLINE void AddAll(const Tile& tile, __m512 (&sums)[kTileRows][kTileOutputs]) {
  std::int64_t i = 0;
  for (; i + kDepth <= tile.depth; i += kDepth) {
    AddDepth(
        tile, i,
        [](const std::uint16_t* at) QUIRE_INLINE_LAMBDA { return AsBf16(_mm512_loadu_si512(at)); },
        sums);
  }
  if (i == tile.depth) return;
  const __mmask32 mask = (1U << (tile.depth - i)) - 1;
  AddDepth(
      tile, i,
      [mask](const std::uint16_t* at)
          QUIRE_INLINE_LAMBDA { return AsBf16(_mm512_maskz_loadu_epi16(mask, at)); },
      sums);
}

// Halves of a, then of b, added: 8 lanes of each. Then quarters: 4 lanes of each of four.
QUIRE_INLINE __m512 AddHalves(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xEE));
}
QUIRE_INLINE __m512 AddQuarters(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xDD));
}

// The 16 lanes of each of four registers, folded by halves.
QUIRE_INLINE __m128 FoldFour(const __m512* sums) {
  const __m512 four =
      AddQuarters(AddHalves(sums[0], sums[1]), AddHalves(sums[2], sums[3]));  // lanes of each
  const __m512 two = _mm512_add_ps(four, _mm512_permute_ps(four, 0x4E));
  const __m512 one = _mm512_add_ps(two, _mm512_permute_ps(two, 0xB1));
  const __m512i firsts = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  return _mm512_castps512_ps128(_mm512_permutexvar_ps(firsts, one));
}

template <int kTileRows>
void MultiplyFour(const MatmulBf16Args& args, std::int64_t row, std::int64_t output) {
  __m512 sums[kTileRows][kOutputs] = {};
  AddAll({args.x + row * args.depth, args.depth,
          reinterpret_cast<const std::uint16_t*>(args.weights) + output * args.depth, args.depth},
         sums);
#pragma GCC unroll 6
  for (int r = 0; r < kTileRows; ++r) {
    float* out = args.out + (row + r) * args.out_stride + output;
    __m128 sum = FoldFour(sums[r]);
    if (args.bias != nullptr) sum = _mm_add_ps(sum, _mm_loadu_ps(args.bias + output));
    if (args.accumulate) sum = _mm_add_ps(_mm_loadu_ps(out), sum);
    _mm_storeu_ps(out, sum);
  }
}

// One output alone, folded as one of four.
void MultiplyOne(const MatmulBf16Args& args, std::int64_t row, std::int64_t output) {
  __m512 lanes[1][1] = {};
  AddAll({args.x + row * args.depth, args.depth,
          reinterpret_cast<const std::uint16_t*>(args.weights) + output * args.depth, args.depth},
         lanes);
  const __m512 sums[kOutputs] = {lanes[0][0]};
  float sum = _mm_cvtss_f32(FoldFour(sums));
  if (args.bias != nullptr) sum += args.bias[output];
  float& out = args.out[row * args.out_stride + output];
  out = args.accumulate ? out + sum : sum;
}

void MultiplyRows(const MatmulBf16Args& args, std::int64_t output) {
  std::int64_t row = 0;
  for (; row + kRows <= args.rows; row += kRows) MultiplyFour<kRows>(args, row, output);
  const std::int64_t left = args.rows - row;
  if (left == 5) MultiplyFour<5>(args, row, output);
  if (left == 4) MultiplyFour<4>(args, row, output);
  if (left == 3) MultiplyFour<3>(args, row, output);
  if (left == 2) MultiplyFour<2>(args, row, output);
  if (left == 1) MultiplyFour<1>(args, row, output);
}

void MatmulBf16(const MatmulBf16Args& args) {
  std::int64_t output = 0;
  for (; output + kOutputs <= args.outputs; output += kOutputs) MultiplyRows(args, output);
  for (; output < args.outputs; ++output) {
    for (std::int64_t row = 0; row < args.rows; ++row) MultiplyOne(args, row, output);
  }
}

}  // namespace

void FillAvx512Bf16Matmul(CpuTable& table) { table.bf16 = {RoundBf16, MatmulBf16}; }

}  // namespace quire::kernels
