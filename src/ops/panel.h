// Panels of quantized rows, and products of a whole panel by one thread.
//
// With many rows each thread takes some and runs them through an operator from end to end, so that
// what one part writes the next one reads from the same core's caches. Only ops looks inside.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/linear.h"
#include "ops/packed_weight.h"

namespace quire::ops {

// How rows are dealt to threads; by their number only.
struct PanelCut {
  std::int64_t panel_rows;  // of each panel but the last
  std::int64_t num_panels;
};

// Panels of at most kPanelRows, as many for one thread as for another.
PanelCut CutPanels(std::int64_t rows, int num_threads);

// Whether all jobs multiply int8 panels by weights small enough to be read once a panel, and there
// are rows for all threads.
bool CanRunByPanels(std::span<const LinearJob> jobs, std::int64_t rows, int num_threads);

// Whether all jobs multiply int8 panels.
bool AreQuantized(std::span<const LinearJob> jobs);

// Memory of a panel, a multiple of 64 bytes, and the panel in it.
std::int64_t PanelBytes(std::int64_t rows, std::int64_t depth);
kernels::QuantPanel PanelIn(std::byte* memory, std::int64_t rows, std::int64_t depth);

// The panel from block `block` on.
kernels::QuantPanel PanelFrom(const kernels::QuantPanel& panel, std::int64_t rows,
                              std::int64_t block);

// Rows of `depth` values, contiguous, that are to be quantized; with a norm, after it.
struct PanelInput {
  const float* x;
  std::int64_t depth;
  const float* norm_weight = nullptr;  // [depth]; null: no norm
  float norm_eps = 0.0F;

  // Checks that the norm fits x.
  static PanelInput Of(ConstTensorView x, const InputNorm& norm);
  PanelInput From(std::int64_t row) const {
    return {x + row * depth, depth, norm_weight, norm_eps};
  }
  // Memory that a thread needs to quantize `rows` of them, a multiple of 64.
  std::int64_t ScratchBytes(std::int64_t rows) const;
};

// Quantizes the first `rows` rows to a panel of as many. `scratch` is of ScratchBytes(rows), and
// may be null where that is 0.
void QuantizeRows(const kernels::CpuTable& table, const PanelInput& input, std::int64_t rows,
                  const kernels::QuantPanel& panel, std::byte* scratch = nullptr);

// One panel of few rows that each thread quantizes for itself when it first asks for it, which
// takes less time than waiting for one another would.
class OwnPanels {
 public:
  // Of the first `rows` rows, at most kPanelRows, in `memory` of Bytes(…).
  OwnPanels(const OpContext& ctx, const PanelInput& input, std::int64_t rows, std::byte* memory);
  static std::int64_t Bytes(const PanelInput& input, std::int64_t rows, int num_threads);

  kernels::QuantPanel Get(int thread_idx) const;

 private:
  static constexpr std::int64_t kHeaderBytes = 64;  // holds whether the panel behind is ready

  const kernels::CpuTable& table_;
  PanelInput input_;
  std::int64_t rows_;
  std::int64_t panel_bytes_;
  std::int64_t bytes_each_;
  std::byte* memory_;
};

// Outputs [begin, end) of `job` for the panel's rows, whose first is written at `out`, a row
// `out_stride` after another.
struct PanelProduct {
  const kernels::QuantPanel& panel;
  std::int64_t rows;
  float* out;
  std::int64_t out_stride;
};
void MultiplyPanel(const LinearJob& job, const PanelProduct& product, std::int64_t begin,
                   std::int64_t end);

}  // namespace quire::ops
