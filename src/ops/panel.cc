#include "ops/panel.h"

#include <algorithm>

namespace quire::ops {
namespace {

using kernels::kPanelRows;
using kernels::kQuantValues;

// Rows that are quantized together: what a kernel reads of them lies in few pages.
constexpr std::int64_t kRowsTogether = 16;
// With fewer rows a thread, all threads share each row's outputs.
constexpr std::int64_t kMinRowsPerThread = 16;
// Weights of one product beyond which they are read once for all rows instead.
constexpr std::size_t kMaxWeightBytes = std::size_t{16} << 20;

}  // namespace

PanelCut CutPanels(std::int64_t rows, int num_threads) {
  const std::int64_t wanted = CeilDiv(CeilDiv(rows, kPanelRows), num_threads) * num_threads;
  const std::int64_t panel_rows = CeilDiv(rows, wanted);
  return {panel_rows, CeilDiv(rows, panel_rows)};
}

bool CanRunByPanels(std::span<const LinearJob> jobs, std::int64_t rows, int num_threads) {
  if (rows < kMinRowsPerThread * num_threads || !AreQuantized(jobs)) return false;
  std::size_t bytes = 0;
  for (const LinearJob& job : jobs) bytes += job.weight->num_bytes();
  return bytes <= kMaxWeightBytes;
}

bool AreQuantized(std::span<const LinearJob> jobs) {
  return std::ranges::all_of(jobs, [](const LinearJob& job) {
    return job.weight->packed().path == LinearWeight::Packed::Path::kQuant;
  });
}

std::int64_t PanelBytes(std::int64_t rows, std::int64_t depth) {
  return CeilDiv(rows * (depth / kQuantValues) * kernels::kPanelBytesPerBlock, 64) * 64;
}

kernels::QuantPanel PanelIn(std::byte* memory, std::int64_t rows, std::int64_t depth) {
  const std::int64_t cells = rows * (depth / kQuantValues);
  auto* scales = reinterpret_cast<float*>(memory + cells * kQuantValues);
  return {.codes = reinterpret_cast<std::int8_t*>(memory),
          .scales = scales,
          .negative_sums = reinterpret_cast<std::int32_t*>(scales + cells),
          .scaled_sums = scales + 4 * cells,
          .parts = reinterpret_cast<std::int32_t*>(scales + 7 * cells)};
}

kernels::QuantPanel PanelFrom(const kernels::QuantPanel& panel, std::int64_t rows,
                              std::int64_t block) {
  return {.codes = panel.codes + block * rows * kQuantValues,
          .scales = panel.scales + block * rows,
          .negative_sums = panel.negative_sums + 3 * block * rows,
          .scaled_sums = panel.scaled_sums + 3 * block * rows,
          .parts = panel.parts + 2 * block * rows};
}

PanelInput PanelInput::Of(ConstTensorView x, const InputNorm& norm) {
  if (norm.weight.empty()) return {x.f32(), x.dim(1)};
  QUIRE_CHECK(norm.weight.shape().num_values() == x.dim(1) && norm.normed.shape() == x.shape());
  return {x.f32(), x.dim(1), norm.weight.f32(), norm.eps};
}

std::int64_t PanelInput::ScratchBytes(std::int64_t rows) const {
  if (norm_weight == nullptr) return 0;
  return CeilDiv(std::min(kRowsTogether, rows) * depth * 4, 64) * 64;
}

void QuantizeRows(const kernels::CpuTable& table, const PanelInput& input, std::int64_t rows,
                  const kernels::QuantPanel& panel, std::byte* scratch) {
  auto* normed = reinterpret_cast<float*>(scratch);
  for (std::int64_t r = 0; r < rows; r += kRowsTogether) {
    const float* x = input.x + r * input.depth;
    const std::int64_t count = std::min(kRowsTogether, rows - r);
    if (input.norm_weight != nullptr) {
      table.rms_norm({.x = x,
                      .weight = input.norm_weight,
                      .out = normed,
                      .rows = count,
                      .dim = input.depth,
                      .x_stride = input.depth,
                      .out_stride = input.depth,
                      .eps = input.norm_eps});
      x = normed;
    }
    table.quantize({.x = x,
                    .x_stride = input.depth,
                    .rows = count,
                    .blocks = input.depth / kQuantValues,
                    .panel_rows = rows,
                    .out = panel,
                    .first_row = r});
  }
}

OwnPanels::OwnPanels(const OpContext& ctx, const PanelInput& input, std::int64_t rows,
                     std::byte* memory)
    : table_(*ctx.table),
      input_(input),
      rows_(rows),
      panel_bytes_(PanelBytes(rows, input.depth)),
      bytes_each_(Bytes(input, rows, 1)),
      memory_(memory) {
  for (int i = 0; i < ctx.pool->num_threads(); ++i) memory_[i * bytes_each_] = std::byte{0};
}

std::int64_t OwnPanels::Bytes(const PanelInput& input, std::int64_t rows, int num_threads) {
  return num_threads * (kHeaderBytes + PanelBytes(rows, input.depth) + input.ScratchBytes(rows));
}

kernels::QuantPanel OwnPanels::Get(int thread_idx) const {
  std::byte* own = memory_ + thread_idx * bytes_each_;
  std::byte* panel_memory = own + kHeaderBytes;
  const kernels::QuantPanel panel = PanelIn(panel_memory, rows_, input_.depth);
  if (*own == std::byte{0}) {
    QuantizeRows(table_, input_, rows_, panel, panel_memory + panel_bytes_);
  }
  *own = std::byte{1};
  return panel;
}

void MultiplyPanel(const LinearJob& job, const PanelProduct& product, std::int64_t begin,
                   std::int64_t end) {
  const LinearWeight::Packed& weight = job.weight->packed();
  weight.quant.matmul(
      {.x = product.panel,
       .rows = product.rows,
       .blocks = weight.in_features / kQuantValues,
       .tiles = weight.data + begin / weight.quant.tile_outputs * weight.tile_bytes(),
       .outputs = end - begin,
       .out = product.out,
       .out_stride = product.out_stride,
       .bias = job.bias.empty() ? nullptr : job.bias.f32() + begin,
       .accumulate = job.accumulate});
}

}  // namespace quire::ops
