// One thread's part of a product: some outputs of a weight for all rows that it multiplies. Only
// ops looks inside.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/linear.h"
#include "ops/packed_weight.h"

namespace quire::ops {

// Rows of weights that are dequantized at once where a kernel wants them in f32.
inline constexpr std::int64_t kExpandOutputs = 16;

// Smallest number of outputs that a slice may have; slices begin at its multiples.
std::int64_t GrainOf(const LinearWeight::Packed& weight);

// Rows that are multiplied by the same weights, and where they lie quantized: in panels of
// kPanelRows, the last one of what is left.
struct SharedRows {
  const float* x;  // [rows, depth]
  std::int64_t rows;
  std::int64_t depth;
  std::byte* panels;  // PanelBytes(rows, depth) in all; null where no weight wants them
  std::uint16_t* rounded = nullptr;  // [rows, depth] as bf16; null where no weight wants them

  std::int64_t num_panels() const;
  std::int64_t PanelRows(std::int64_t panel) const;
  kernels::QuantPanel PanelAt(std::int64_t panel) const;
  // Quantizes blocks [begin, end) of all rows of a panel.
  void QuantizeBlocks(const kernels::CpuTable& table, std::int64_t panel, std::int64_t begin,
                      std::int64_t end) const;
};

// Rounds rows of `values` values in all to bf16.
void RoundRows(OpContext& ctx, const float* x, std::int64_t values, std::uint16_t* rounded);

// Blocks of one panel that a thread quantizes at once. Cut by blocks, not by rows: the rows of a
// block share cache lines, which threads would take from each other.
std::int64_t QuantizeGrain(std::int64_t panel_rows);

// Outputs [begin, end) of `job` for all rows. `expanded` [kExpandOutputs, depth] is the thread's
// own; it may be null where the weight is not dequantized on the way.
struct Slice {
  std::int64_t begin;
  std::int64_t end;
};
void MultiplySlice(const LinearJob& job, const SharedRows& rows, Slice slice, float* expanded);

}  // namespace quire::ops
