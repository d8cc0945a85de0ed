#include "ops/linear.h"

#include <algorithm>
#include <optional>

#include "ops/packed_weight.h"
#include "ops/panel.h"

namespace quire::ops {
namespace {

using Packed = LinearWeight::Packed;

// Tasks per thread: enough that a thread which loses its core for a while does not hold up the
// others, few enough that taking one costs nothing.
constexpr std::int64_t kTasksPerThread = 8;
constexpr std::int64_t kExpandOutputs = 16;  // rows of weights dequantized at once
// Blocks of 32 values that one task quantizes, at least: below that, waking a thread costs more.
constexpr std::int64_t kQuantizeBlocks = 128;
constexpr std::int64_t kRoundValues = 16384;  // that one task rounds to bf16

// Smallest number of outputs that a task may take.
std::int64_t GrainOf(const Packed& weight) {
  return weight.path == Packed::Path::kQuant ? weight.quant.tile_outputs : kExpandOutputs;
}

// The product of one call, cut into tasks.
class Product {
 public:
  Product(OpContext& ctx, ConstTensorView x, std::span<const LinearJob> jobs);
  void Run();

 private:
  void CutTasks();
  void TakeScratch();
  kernels::QuantPanel PanelAt(std::int64_t panel) const {
    return PanelIn(panels_ + panel * PanelBytes(kernels::kPanelRows, depth_), PanelRows(panel),
                   depth_);
  }
  std::int64_t PanelRows(std::int64_t panel) const {
    return std::min<std::int64_t>(kernels::kPanelRows, rows_ - panel * kernels::kPanelRows);
  }
  void QuantizeBlocks(std::int64_t panel, std::int64_t begin, std::int64_t end) const;
  void Quantize() const;
  std::int64_t NumTasks(const LinearJob& job) const {
    return CeilDiv(job.weight->out_features(), TaskOutputs(job));
  }
  std::int64_t TaskOutputs(const LinearJob& job) const {
    return GrainOf(job.weight->packed()) * grains_per_task_;
  }
  void RunTask(std::int64_t task, int thread_idx) const;
  void RunQuant(const LinearJob& job, std::int64_t begin, std::int64_t end, int thread_idx) const;
  void RoundRows() const;
  void RunBf16(const LinearJob& job, std::int64_t begin, std::int64_t end) const;
  void RunFloat(const LinearJob& job, std::int64_t begin, std::int64_t end,
                const std::byte* weights) const;
  void RunExpand(const LinearJob& job, std::int64_t begin, std::int64_t end, int thread_idx) const;

  OpContext& ctx_;
  const float* x_;
  std::int64_t rows_;
  std::int64_t depth_;
  std::span<const LinearJob> jobs_;
  bool has_quant_ = false;
  bool has_bf16_ = false;
  bool has_expand_ = false;
  std::int64_t grains_per_task_ = 1;
  std::int64_t num_tasks_ = 0;
  std::byte* panels_ = nullptr;
  std::optional<OwnPanels> own_panels_;  // where all rows fit one
  float* expanded_ = nullptr;            // [num_threads, kExpandOutputs, depth]
  std::uint16_t* rounded_ = nullptr;     // [rows, depth] bf16
};

Product::Product(OpContext& ctx, ConstTensorView x, std::span<const LinearJob> jobs)
    : ctx_(ctx), x_(x.f32()), rows_(x.dim(0)), depth_(x.dim(1)), jobs_(jobs) {
  for (const LinearJob& job : jobs_) {
    const Packed& weight = job.weight->packed();
    has_quant_ |= weight.path == Packed::Path::kQuant;
    has_bf16_ |= weight.path == Packed::Path::kBf16;
    has_expand_ |= weight.path == Packed::Path::kExpand;
  }
  CutTasks();
  TakeScratch();
}

void Product::CutTasks() {
  std::int64_t grains = 0;
  for (const LinearJob& job : jobs_) {
    grains += CeilDiv(job.weight->out_features(), GrainOf(job.weight->packed()));
  }
  grains_per_task_ =
      std::max<std::int64_t>(1, grains / (ctx_.pool->num_threads() * kTasksPerThread));
  // Kernels take tiles two at a time.
  if (rows_ > 1 || grains_per_task_ > 1) grains_per_task_ = (grains_per_task_ + 1) / 2 * 2;
  for (const LinearJob& job : jobs_) num_tasks_ += NumTasks(job);
}

void Product::TakeScratch() {
  const int num_threads = ctx_.pool->num_threads();
  std::int64_t panel_bytes = 0;
  if (has_quant_ && rows_ <= kernels::kPanelRows) {
    panel_bytes = OwnPanels::Bytes(rows_, depth_, num_threads);
  } else if (has_quant_) {
    panel_bytes = CeilDiv(rows_, kernels::kPanelRows) * PanelBytes(kernels::kPanelRows, depth_);
  }
  const std::int64_t expanded = has_expand_ ? num_threads * kExpandOutputs * depth_ : 0;
  const std::int64_t rounded = has_bf16_ ? rows_ * depth_ : 0;
  if (panel_bytes + expanded + rounded == 0) return;
  panels_ = ctx_.scratch->Get(static_cast<std::size_t>(panel_bytes + expanded * 4 + rounded * 2));
  expanded_ = reinterpret_cast<float*>(panels_ + panel_bytes);
  rounded_ = reinterpret_cast<std::uint16_t*>(expanded_ + expanded);
  if (has_quant_ && rows_ <= kernels::kPanelRows) {
    own_panels_.emplace(ctx_, x_, rows_, depth_, panels_);
  }
}

// Blocks [begin, end) of all rows of a panel.
void Product::QuantizeBlocks(std::int64_t panel, std::int64_t begin, std::int64_t end) const {
  const std::int64_t rows = PanelRows(panel);
  const kernels::QuantPanel out = PanelFrom(PanelAt(panel), rows, begin);
  ctx_.table->quantize(
      {.x = x_ + panel * kernels::kPanelRows * depth_ + begin * kernels::kQuantValues,
       .x_stride = depth_,
       .rows = rows,
       .blocks = end - begin,
       .panel_rows = rows,
       .out = out,
       .first_row = 0});
}

// Cut by blocks, not by rows: the rows of a block share cache lines, which threads would take from
// each other.
void Product::Quantize() const {
  const std::int64_t blocks = depth_ / kernels::kQuantValues;
  const std::int64_t panel_rows = std::min<std::int64_t>(rows_, kernels::kPanelRows);
  const std::int64_t grain = std::max<std::int64_t>(1, kQuantizeBlocks / panel_rows);
  const std::int64_t tasks = CeilDiv(blocks, grain);
  ctx_.pool->ForEach(tasks * CeilDiv(rows_, kernels::kPanelRows), [&](std::int64_t task, int) {
    const std::int64_t begin = task % tasks * grain;
    QuantizeBlocks(task / tasks, begin, std::min(begin + grain, blocks));
  });
}

void Product::RunQuant(const LinearJob& job, std::int64_t begin, std::int64_t end,
                       int thread_idx) const {
  const std::int64_t stride = job.weight->out_features();
  if (own_panels_) {
    const kernels::QuantPanel x = own_panels_->Get(thread_idx);
    MultiplyPanel(job, {x, rows_, job.out.f32() + begin, stride}, begin, end);
    return;
  }
  for (std::int64_t panel = 0; panel * kernels::kPanelRows < rows_; ++panel) {
    const kernels::QuantPanel x = PanelAt(panel);
    float* out = job.out.f32() + panel * kernels::kPanelRows * stride + begin;
    MultiplyPanel(job, {x, PanelRows(panel), out, stride}, begin, end);
  }
}

// To bf16, by the calling thread alone where waking others would take longer.
void Product::RoundRows() const {
  const std::int64_t values = rows_ * depth_;
  const std::int64_t tasks = CeilDiv(values, kRoundValues);
  const auto round = [&](std::int64_t task, int) {
    const std::int64_t begin = task * kRoundValues;
    ctx_.table->bf16.round(x_ + begin, std::min(kRoundValues, values - begin), rounded_ + begin);
  };
  if (tasks > 1) {
    ctx_.pool->ForEach(tasks, round);
  } else {
    round(0, 0);
  }
}

void Product::RunBf16(const LinearJob& job, std::int64_t begin, std::int64_t end) const {
  const Packed& weight = job.weight->packed();
  for (std::int64_t r = 0; r < rows_; r += kernels::kPanelRows) {
    weight.matmul_bf16({.x = rounded_ + r * depth_,
                        .rows = std::min<std::int64_t>(kernels::kPanelRows, rows_ - r),
                        .weights = weight.data + begin * weight.row_bytes(),
                        .outputs = end - begin,
                        .depth = depth_,
                        .out = job.out.f32() + r * weight.out_features + begin,
                        .out_stride = weight.out_features,
                        .bias = job.bias.empty() ? nullptr : job.bias.f32() + begin,
                        .accumulate = job.accumulate});
  }
}

// Outputs [begin, end), whose rows of weights start at `weights`.
void Product::RunFloat(const LinearJob& job, std::int64_t begin, std::int64_t end,
                       const std::byte* weights) const {
  const std::int64_t stride = job.weight->out_features();
  for (std::int64_t r = 0; r < rows_; r += kernels::kPanelRows) {
    job.weight->packed().matmul_float(
        {.x = x_ + r * depth_,
         .x_stride = depth_,
         .rows = std::min<std::int64_t>(kernels::kPanelRows, rows_ - r),
         .weights = weights,
         .outputs = end - begin,
         .depth = depth_,
         .out = job.out.f32() + r * stride + begin,
         .out_stride = stride,
         .bias = job.bias.empty() ? nullptr : job.bias.f32() + begin,
         .accumulate = job.accumulate});
  }
}

void Product::RunExpand(const LinearJob& job, std::int64_t begin, std::int64_t end,
                        int thread_idx) const {
  const Packed& weight = job.weight->packed();
  float* expanded = expanded_ + thread_idx * kExpandOutputs * depth_;
  for (std::int64_t o = begin; o < end; o += kExpandOutputs) {
    const std::int64_t count = std::min(kExpandOutputs, end - o);
    weight.dequantize(weight.data + o * weight.row_bytes(), count * depth_, expanded);
    RunFloat(job, o, o + count, reinterpret_cast<const std::byte*>(expanded));
  }
}

void Product::RunTask(std::int64_t task, int thread_idx) const {
  const LinearJob* job = jobs_.data();
  for (; task >= NumTasks(*job); ++job) task -= NumTasks(*job);
  const Packed& weight = job->weight->packed();
  const std::int64_t begin = task * TaskOutputs(*job);
  const std::int64_t end = std::min(begin + TaskOutputs(*job), weight.out_features);
  switch (weight.path) {
    case Packed::Path::kQuant:
      return RunQuant(*job, begin, end, thread_idx);
    case Packed::Path::kBf16:
      return RunBf16(*job, begin, end);
    case Packed::Path::kFloat:
      return RunFloat(*job, begin, end, weight.data + begin * weight.row_bytes());
    case Packed::Path::kExpand:
      return RunExpand(*job, begin, end, thread_idx);
  }
}

void Product::Run() {
  if (has_quant_ && !own_panels_) Quantize();
  if (has_bf16_) RoundRows();
  ctx_.pool->ForEach(num_tasks_,
                     [&](std::int64_t task, int thread_idx) { RunTask(task, thread_idx); });
}

void CheckJobs(ConstTensorView x, std::span<const LinearJob> jobs) {
  QUIRE_CHECK(x.shape().rank() == 2);
  for (const LinearJob& job : jobs) {
    QUIRE_CHECK(job.weight->in_features() == x.dim(1));
    QUIRE_CHECK(job.out.dim(0) == x.dim(0) && job.out.dim(1) == job.weight->out_features());
    QUIRE_CHECK(job.bias.empty() || job.bias.shape().num_values() == job.weight->out_features());
  }
}

// Each thread quantizes panels of rows of its own and multiplies them by all weights.
void RunByPanels(OpContext& ctx, ConstTensorView x, std::span<const LinearJob> jobs) {
  const std::int64_t rows = x.dim(0), depth = x.dim(1);
  const PanelCut cut = CutPanels(rows, ctx.pool->num_threads());
  const std::int64_t bytes = PanelBytes(cut.panel_rows, depth);
  std::byte* memory = ctx.scratch->Get(static_cast<std::size_t>(ctx.pool->num_threads() * bytes));
  ctx.pool->ForEach(cut.num_panels, [&](std::int64_t panel_idx, int thread_idx) {
    const std::int64_t first = panel_idx * cut.panel_rows;
    const std::int64_t count = std::min(cut.panel_rows, rows - first);
    const kernels::QuantPanel panel = PanelIn(memory + thread_idx * bytes, count, depth);
    QuantizeRows(*ctx.table, x.f32() + first * depth, count, depth, panel);
    for (const LinearJob& job : jobs) {
      const std::int64_t outputs = job.weight->out_features();
      MultiplyPanel(job, {panel, count, job.out.f32() + first * outputs, outputs}, 0, outputs);
    }
  });
}

}  // namespace

void Linear(OpContext& ctx, ConstTensorView x, std::span<const LinearJob> jobs) {
  CheckJobs(x, jobs);
  if (x.dim(0) == 0) return;
  if (CanRunByPanels(jobs, x.dim(0), ctx.pool->num_threads())) {
    RunByPanels(ctx, x, jobs);
  } else {
    Product(ctx, x, jobs).Run();
  }
}

void Embed(OpContext& ctx, ConstTensorView table, std::span<const std::int32_t> ids,
           TensorView out) {
  const std::int64_t cols = table.dim(1);
  const auto row_bytes = static_cast<std::int64_t>(*BytesOf(table.dtype(), cols));
  const auto dequantize = ctx.table->dequantize[static_cast<int>(table.dtype())];
  QUIRE_CHECK(dequantize != nullptr && out.dim(1) == cols);
  QUIRE_CHECK(out.dim(0) == static_cast<std::int64_t>(ids.size()));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    QUIRE_CHECK(ids[i] >= 0 && ids[i] < table.dim(0));
    dequantize(table.data() + ids[i] * row_bytes, cols,
               out.f32() + static_cast<std::int64_t>(i) * cols);
  }
}

void Dequantize(OpContext& ctx, ConstTensorView source, float* out) {
  const auto dequantize = ctx.table->dequantize[static_cast<int>(source.dtype())];
  QUIRE_CHECK(dequantize != nullptr);
  dequantize(source.data(), source.shape().num_values(), out);
}

}  // namespace quire::ops
