// Rotary position embedding. Contract for every variant.
#pragma once

#include <cstdint>

namespace quire::kernels {

struct RopeArgs {
  float* x;  // [rows, heads, head_dim], turned in place
  std::int64_t rows;
  std::int64_t heads;
  std::int64_t head_dim;
  const std::int32_t* positions;  // [rows]
  const float* cos_sin;           // [max_positions, rotary_dim]: the cosines, then the sines
  std::int64_t rotary_dim;        // leading values of a head that turn, even
  bool is_interleaved;            // pairs are (2i, 2i + 1); otherwise (i, i + rotary_dim / 2)
};

// For pair i = (a, b) of each head, with c and s the position's i-th cosine and sine:
// a' = fma(a, c, -(b * s)), b' = fma(b, c, a * s). All variants give the same bits.
using RopeFn = void (*)(const RopeArgs&);

}  // namespace quire::kernels
