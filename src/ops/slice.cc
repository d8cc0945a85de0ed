#include "ops/slice.h"

#include <algorithm>

#include "ops/panel.h"

namespace quire::ops {
namespace {

using kernels::kPanelRows;
using Packed = LinearWeight::Packed;

// Blocks of 32 values that are worth waking a thread for.
constexpr std::int64_t kQuantizeBlocks = 128;
// Values that one task rounds to bf16.
constexpr std::int64_t kRoundValues = 16384;

void MultiplyQuant(const LinearJob& job, const SharedRows& rows, Slice slice) {
  const std::int64_t stride = job.weight->out_features();
  for (std::int64_t panel = 0; panel < rows.num_panels(); ++panel) {
    float* out = job.out.f32() + panel * kPanelRows * stride + slice.begin;
    MultiplyPanel(job, {rows.PanelAt(panel), rows.PanelRows(panel), out, stride}, slice.begin,
                  slice.end);
  }
}

void MultiplyBf16(const LinearJob& job, const SharedRows& rows, Slice slice) {
  const Packed& weight = job.weight->packed();
  for (std::int64_t panel = 0; panel < rows.num_panels(); ++panel) {
    const std::int64_t first = panel * kPanelRows;
    weight.matmul_bf16({.x = rows.rounded + first * rows.depth,
                        .rows = rows.PanelRows(panel),
                        .weights = weight.data + slice.begin * weight.row_bytes(),
                        .outputs = slice.end - slice.begin,
                        .depth = rows.depth,
                        .out = job.out.f32() + first * weight.out_features + slice.begin,
                        .out_stride = weight.out_features,
                        .bias = job.bias.empty() ? nullptr : job.bias.f32() + slice.begin,
                        .accumulate = job.accumulate});
  }
}

// `weights` are the rows of the slice.
void MultiplyFloat(const LinearJob& job, const SharedRows& rows, Slice slice,
                   const std::byte* weights) {
  const std::int64_t stride = job.weight->out_features();
  for (std::int64_t panel = 0; panel < rows.num_panels(); ++panel) {
    const std::int64_t first = panel * kPanelRows;
    job.weight->packed().matmul_float(
        {.x = rows.x + first * rows.depth,
         .x_stride = rows.depth,
         .rows = rows.PanelRows(panel),
         .weights = weights,
         .outputs = slice.end - slice.begin,
         .depth = rows.depth,
         .out = job.out.f32() + first * stride + slice.begin,
         .out_stride = stride,
         .bias = job.bias.empty() ? nullptr : job.bias.f32() + slice.begin,
         .accumulate = job.accumulate});
  }
}

void MultiplyExpanded(const LinearJob& job, const SharedRows& rows, Slice slice, float* expanded) {
  const Packed& weight = job.weight->packed();
  for (std::int64_t o = slice.begin; o < slice.end; o += kExpandOutputs) {
    const std::int64_t count = std::min(kExpandOutputs, slice.end - o);
    weight.dequantize(weight.data + o * weight.row_bytes(), count * rows.depth, expanded);
    MultiplyFloat(job, rows, {o, o + count}, reinterpret_cast<const std::byte*>(expanded));
  }
}

}  // namespace

std::int64_t GrainOf(const Packed& weight) {
  return weight.path == Packed::Path::kQuant ? weight.quant.tile_outputs : kExpandOutputs;
}

std::int64_t SharedRows::num_panels() const { return CeilDiv(rows, kPanelRows); }

std::int64_t SharedRows::PanelRows(std::int64_t panel) const {
  return std::min<std::int64_t>(kPanelRows, rows - panel * kPanelRows);
}

kernels::QuantPanel SharedRows::PanelAt(std::int64_t panel) const {
  return PanelIn(panels + panel * PanelBytes(kPanelRows, depth), PanelRows(panel), depth);
}

void SharedRows::QuantizeBlocks(const kernels::CpuTable& table, std::int64_t panel,
                                std::int64_t begin, std::int64_t end) const {
  const std::int64_t count = PanelRows(panel);
  table.quantize({.x = x + panel * kPanelRows * depth + begin * kernels::kQuantValues,
                  .x_stride = depth,
                  .rows = count,
                  .blocks = end - begin,
                  .panel_rows = count,
                  .out = PanelFrom(PanelAt(panel), count, begin),
                  .first_row = 0});
}

void RoundRows(OpContext& ctx, const float* x, std::int64_t values, std::uint16_t* rounded) {
  const std::int64_t tasks = CeilDiv(values, kRoundValues);
  const auto round = [&](std::int64_t task, int) {
    const std::int64_t begin = task * kRoundValues;
    ctx.table->bf16.round(x + begin, std::min(kRoundValues, values - begin), rounded + begin);
  };
  if (tasks > 1) {
    ctx.pool->ForEach(tasks, round);
  } else {
    round(0, 0);  // waking others would take longer
  }
}

std::int64_t QuantizeGrain(std::int64_t panel_rows) {
  return std::max<std::int64_t>(1, kQuantizeBlocks / panel_rows);
}

void MultiplySlice(const LinearJob& job, const SharedRows& rows, Slice slice, float* expanded) {
  const Packed& weight = job.weight->packed();
  switch (weight.path) {
    case Packed::Path::kQuant:
      return MultiplyQuant(job, rows, slice);
    case Packed::Path::kBf16:
      return MultiplyBf16(job, rows, slice);
    case Packed::Path::kFloat:
      return MultiplyFloat(job, rows, slice, weight.data + slice.begin * weight.row_bytes());
    case Packed::Path::kExpand:
      return MultiplyExpanded(job, rows, slice, expanded);
  }
}

}  // namespace quire::ops
