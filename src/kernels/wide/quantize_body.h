// Quantization of rows to a panel (kernels/matmul.h), block by block and row by row.
#pragma once

#include <cstdint>

#include "kernels/matmul.h"
#include "kernels/wide/types.h"

namespace quire::kernels {
namespace {

// Sums of the first and the last 16 codes of a block.
struct CodeSums {
  std::int32_t half[2];
};

// `quantize_block(x, codes, sums)` writes the codes of 32 values and their sums, and gives the
// scale.
template <typename QuantizeBlockFn>
QUIRE_INLINE void QuantizeByBlocks(const QuantizeArgs& args,
                                   const QuantizeBlockFn& quantize_block) {
  const std::int64_t stride = args.panel_rows;
  for (std::int64_t b = 0; b < args.blocks; ++b) {
    for (std::int64_t r = 0; r < args.rows; ++r) {
      const std::int64_t row = args.first_row + r;
      CodeSums sums;
      const float scale = quantize_block(args.x + r * args.x_stride + b * kQuantValues,
                                         args.out.codes + (b * stride + row) * kQuantValues, sums);
      const std::int32_t all[3] = {sums.half[0], sums.half[1], sums.half[0] + sums.half[1]};
      args.out.scales[b * stride + row] = scale;
      for (int k = 0; k < 3; ++k) {
        args.out.negative_sums[(3 * b + k) * stride + row] = -all[k];
        args.out.scaled_sums[(3 * b + k) * stride + row] = scale * static_cast<float>(all[k]);
      }
    }
  }
}

}  // namespace
}  // namespace quire::kernels
