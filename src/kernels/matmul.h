// Products with weight matrices. Contract for every variant.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quire::kernels {

// ---- f32 activations ----

struct MatmulFloatArgs {
  const float* x;  // [rows, depth], row stride `x_stride`
  std::int64_t x_stride;
  std::int64_t rows;
  const std::byte* weights;  // [outputs, depth] contiguous, of the type of the table's slot
  std::int64_t outputs;
  std::int64_t depth;
  float* out;  // [rows, outputs], row stride `out_stride`
  std::int64_t out_stride;
  const float* bias;  // [outputs], or null
  bool accumulate;
};

// out[r, o] = sum_i x[r, i] * w[o, i]; then + bias[o]; then, accumulating, old out[r, o] + that.
//
// The sum runs in f32 over 16 lanes, element i on lane i % 16, with fused multiply-add; then lanes
// fold by halves. All variants give the same bits, and an output depends on its row of x and its
// row of weights alone.
using MatmulFloatFn = void (*)(const MatmulFloatArgs&);

enum class FloatType { kF32, kF16, kBF16 };
inline constexpr int kNumFloatTypes = 3;

// ---- bf16 activations ----

// out[i] = x[i] rounded to nearest even, denormals to zero.
using RoundBf16Fn = void (*)(const float* x, std::int64_t n, std::uint16_t* out);

struct MatmulBf16Args {
  const std::uint16_t* x;  // [rows, depth] contiguous, as RoundBf16Fn made them
  std::int64_t rows;
  const std::byte* weights;  // [outputs, depth] contiguous, bf16
  std::int64_t outputs;
  std::int64_t depth;
  float* out;  // [rows, outputs], row stride `out_stride`
  std::int64_t out_stride;
  const float* bias;  // [outputs], or null
  bool accumulate;
};

// As MatmulFloatFn, with x rounded to bf16 and the sum in another order: f32, over 16 lanes, values
// 2i and 2i + 1 of depth on lane i % 16, a pair added as the processor's instruction adds it,
// denormals as zeros; then lanes fold by halves. An output depends on its row of x and its row of
// weights alone, but its last bits on the kind of processor. Against MatmulFloatFn over f32 x it
// is off by at most (2^-8 + (depth / 16 + 6) * 2^-23) * sum_i |x[i] w[i]|, and depth * 2^-126 times
// the larger of the largest weight and value.
using MatmulBf16Fn = void (*)(const MatmulBf16Args&);

struct Bf16Kernel {
  RoundBf16Fn round = nullptr;  // null, as `matmul`: the ISA has none
  MatmulBf16Fn matmul = nullptr;
};

// ---- int8 activations ----

inline constexpr int kQuantValues = 32;  // values of a row that share one scale
inline constexpr int kPanelRows = 64;    // most rows in a panel

// Which scales a panel may have. Two powers of two cost a product additions alone, which some
// processors do beside their multiplications; they are at most 1.2 times, and on average 1.06
// times, as large as they need be.
enum class ScaleRule {
  kExact,      // scale = max / 127, code = round to nearest even(x * (127 / max))
  kTwoPowers,  // scale = the least 2^e * (1 + k / 16) >= max / 127, k of 0 1 2 4 8 12 14 15;
               // code = round to nearest even(x * (1 / scale))
};

// Up to kPanelRows quantized rows, block-major, so that one block of all rows is contiguous.
// For each block of 32 values of a row, with max the largest magnitude in it, scale and codes are
// as the rule says, but
//   max < 1e-30: scale and codes are 0; NaN, infinity or max >= 2^109: scale is NaN and codes are
//   0.
// Sums are of codes: [b, 0] of the first 16, [b, 1] of the last 16, [b, 2] of all 32 of block b.
// Weights whose codes are stored with an offset start from the negative ones.
//
// A scale of two powers is 2^a + 2^(a-j) or 2^a - 2^(a-j), j <= 5, and parts has [b, 0] the bits of
// the float 1.5 * 2^23 * 2^a, [b, 1] what to add to them as an integer for 1.5 * 2^23 times the
// second power with its sign. The bits of the first plus an integer of less than 2^22 are that of
// the float which is more by that integer times 2^a; so a dot product that starts from them becomes
// its product with the scale by additions, without rounding. A power of two is twice 2^a, with j =
// 0. A scale of 0 has the bits for 2^a = 1, NaN its own, both with 0 to add. Panels of exact scales
// have no parts.
struct QuantPanel {
  std::int8_t* codes;           // [blocks, rows, 32]
  float* scales;                // [blocks, rows]
  std::int32_t* negative_sums;  // [blocks, 3, rows]: minus the sum
  float* scaled_sums;           // [blocks, 3, rows]: scale * float(sum)
  std::int32_t* parts;          // [blocks, 2, rows]
};
inline constexpr int kStartBits = 0x4B400000;  // 1.5 * 2^23
inline constexpr int kOneBits = 0x3F800000;    // 1
inline constexpr float kQuantTiny = 1e-30F;
inline constexpr int kQuantHugeBits = 0x76000000;  // 2^109
inline constexpr float kQuantCodes = 127.0F;
inline constexpr std::int64_t kPanelBytesPerBlock = kQuantValues + 4 + 12 + 12 + 8;  // of one row

struct QuantizeArgs {
  const float* x;  // [rows, blocks * 32], row stride `x_stride`
  std::int64_t x_stride;
  std::int64_t rows;
  std::int64_t blocks;
  std::int64_t panel_rows;  // rows of the whole panel, its stride
  QuantPanel out;           // of the whole panel
  std::int64_t first_row;   // where the rows stand in it
};
using QuantizeFn = void (*)(const QuantizeArgs&);

struct MatmulQuantArgs {
  QuantPanel x;
  std::int64_t rows;       // of the panel
  std::int64_t blocks;     // of 32 values
  const std::byte* tiles;  // as `pack` made them, or the checkpoint's blocks where it is null
  std::int64_t outputs;    // from the first tile's first; the last tile may be partly used
  float* out;              // [rows, outputs], row stride `out_stride`
  std::int64_t out_stride;
  const float* bias;  // [outputs], or null
  bool accumulate;
};

// A weight is code * s + m, with s and m shared by a sub-block of 32 values (16 for Q2_K, Q3_K and
// Q6_K) and m absent for types without a minimum (kernels/quant.h). An output's sum takes the
// sub-blocks of its row in order, in f32, on one accumulator that starts at 0:
//   sum = fma(float(dot) * scale, s, sum), dot = the exact integer sum of code * activation code;
//   sum = fma(m, scaled_sum, sum) where the type has minima, the scaled sum being the sub-block's.
// Then + bias[o]; then, accumulating, old out + that. All variants give the same bits, and an
// output depends on its row of x and its row of weights alone. The panel is one of the same table's
// `quantize`.
using MatmulQuantFn = void (*)(const MatmulQuantArgs&);

// Lays `outputs` (at most tile_outputs) rows of checkpoint blocks out as one tile; absent rows
// become zeros.
struct PackArgs {
  const std::byte* rows;   // the first row's first block
  std::int64_t row_bytes;  // between rows
  std::int64_t outputs;
  std::int64_t blocks;  // of the type, per row
  std::byte* tile;
};
using PackFn = void (*)(const PackArgs&);

// How one quantized type is multiplied on one ISA.
struct QuantKernel {
  MatmulQuantFn matmul = nullptr;  // null: the type has none
  PackFn pack = nullptr;           // to kernels/tile.h; null: the checkpoint's own layout
  int tile_outputs = 1;            // rows of weights interleaved in a tile
  int tile_block_bytes = 0;        // bytes a tile takes for each block of the type
};

}  // namespace quire::kernels
