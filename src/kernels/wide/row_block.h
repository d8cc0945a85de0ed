// What a product reads of a panel of quantized rows (kernels/matmul.h) for one block.
#pragma once

#include <cstdint>

#include "kernels/matmul.h"
#include "kernels/wide/types.h"

namespace quire::kernels {
namespace {

// The panel's values of one block, from one row on.
struct RowBlock {
  const std::int8_t* codes;
  const float* scales;
  const std::int32_t* negative_sums;  // [3], `stride` apart
  const float* scaled_sums;           // likewise
  const std::int32_t* parts;          // [2], likewise
  std::int64_t stride;

  QUIRE_INLINE void Skip(int rows) {
    codes += rows * kQuantValues;
    scales += rows;
    negative_sums += rows;
    scaled_sums += rows;
    parts += rows;
  }
};

QUIRE_INLINE RowBlock RowsAt(const MatmulQuantArgs& args, std::int64_t block, std::int64_t row) {
  return {args.x.codes + (block * args.rows + row) * kQuantValues,
          args.x.scales + block * args.rows + row,
          args.x.negative_sums + 3 * block * args.rows + row,
          args.x.scaled_sums + 3 * block * args.rows + row,
          args.x.parts + 2 * block * args.rows + row,
          args.rows};
}

}  // namespace
}  // namespace quire::kernels
