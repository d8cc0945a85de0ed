// Row normalisations. Contract for every variant.
#pragma once

#include <cstdint>

namespace quire::kernels {

struct RmsNormArgs {
  const float* x;       // [rows, dim], row stride `x_stride`
  const float* weight;  // [dim]
  float* out;           // [rows, dim], row stride `out_stride`; may equal `x`
  std::int64_t rows;
  std::int64_t dim;
  std::int64_t x_stride;  // elements between row starts
  std::int64_t out_stride;
  float eps;  // added to the mean square, > 0
};

// out[r, i] = (x[r, i] * scale_r) * weight[i], scale_r = 1 / sqrt(sum_i(x[r, i]^2) / dim + eps).
//
// The sum runs in f32 over 16 lanes, element i on lane i % 16, with fused multiply-add; then lanes
// fold by halves (16 -> 8 -> 4 -> 2 -> 1). Every variant keeps this order: all give the same bits.
using RmsNormFn = void (*)(const RmsNormArgs&);

struct LayerNormArgs {
  const float* x;
  const float* weight;
  const float* bias;  // [dim], or null
  float* out;
  std::int64_t rows;
  std::int64_t dim;
  std::int64_t x_stride;
  std::int64_t out_stride;
  float eps;
};

// mean = sum_i(x) / dim; var = sum_i((x - mean)^2) / dim;
// out = ((x - mean) * (1 / sqrt(var + eps))) * weight + bias, the last step fused where there is a
// bias. Sums as in RmsNorm, the first one with plain additions.
using LayerNormFn = void (*)(const LayerNormArgs&);

}  // namespace quire::kernels
