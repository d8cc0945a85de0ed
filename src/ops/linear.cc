#include "ops/linear.h"

#include <algorithm>
#include <optional>

#include "ops/elementwise.h"
#include "ops/packed_weight.h"
#include "ops/panel.h"
#include "ops/slice.h"

namespace quire::ops {
namespace {

using Packed = LinearWeight::Packed;

// Tasks per thread: enough that a thread which loses its core for a while does not hold up the
// others, few enough that taking one costs nothing.
constexpr std::int64_t kTasksPerThread = 8;

// The product of one call, cut into tasks.
class Product {
 public:
  Product(OpContext& ctx, ConstTensorView x, std::span<const LinearJob> jobs,
          const InputNorm& norm);
  void Run();

 private:
  void CutTasks();
  void TakeScratch();
  void Quantize() const;
  std::int64_t NumTasks(const LinearJob& job) const {
    return CeilDiv(job.weight->out_features(), TaskOutputs(job));
  }
  std::int64_t TaskOutputs(const LinearJob& job) const {
    return GrainOf(job.weight->packed()) * grains_per_task_;
  }
  void RunTask(std::int64_t task, int thread_idx) const;

  OpContext& ctx_;
  PanelInput input_;
  SharedRows rows_;
  std::span<const LinearJob> jobs_;
  bool has_quant_ = false;
  bool has_bf16_ = false;
  bool has_expand_ = false;
  std::int64_t grains_per_task_ = 1;
  std::int64_t num_tasks_ = 0;
  std::optional<OwnPanels> own_panels_;  // where all rows fit one
  float* expanded_ = nullptr;            // [num_threads, kExpandOutputs, depth]
};

Product::Product(OpContext& ctx, ConstTensorView x, std::span<const LinearJob> jobs,
                 const InputNorm& norm)
    : ctx_(ctx),
      input_(PanelInput::Of(x, norm)),
      rows_{x.f32(), x.dim(0), x.dim(1), nullptr, nullptr},
      jobs_(jobs) {
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
  if (rows_.rows > 1 || grains_per_task_ > 1) grains_per_task_ = (grains_per_task_ + 1) / 2 * 2;
  for (const LinearJob& job : jobs_) num_tasks_ += NumTasks(job);
}

void Product::TakeScratch() {
  const int num_threads = ctx_.pool->num_threads();
  const bool is_one_panel = has_quant_ && rows_.rows <= kernels::kPanelRows;
  std::int64_t panel_bytes = 0;
  if (is_one_panel) {
    panel_bytes = OwnPanels::Bytes(input_, rows_.rows, num_threads);
  } else if (has_quant_) {
    panel_bytes = rows_.num_panels() * PanelBytes(kernels::kPanelRows, rows_.depth);
  }
  const std::int64_t expanded = has_expand_ ? num_threads * kExpandOutputs * rows_.depth : 0;
  const std::int64_t rounded = has_bf16_ ? rows_.rows * rows_.depth : 0;
  const std::int64_t bytes = panel_bytes + expanded * 4 + rounded * 2;
  if (bytes == 0) return;
  rows_.panels = ctx_.scratch->Get(static_cast<std::size_t>(bytes));
  expanded_ = reinterpret_cast<float*>(rows_.panels + panel_bytes);
  rows_.rounded = reinterpret_cast<std::uint16_t*>(expanded_ + expanded);
  QUIRE_DCHECK(input_.norm_weight == nullptr || is_one_panel) << "these rows are not normed";
  if (is_one_panel) own_panels_.emplace(ctx_, input_, rows_.rows, rows_.panels);
}

void Product::Quantize() const {
  const std::int64_t blocks = rows_.depth / kernels::kQuantValues;
  const std::int64_t grain = QuantizeGrain(rows_.PanelRows(0));
  const std::int64_t tasks = CeilDiv(blocks, grain);
  ctx_.pool->ForEach(tasks * rows_.num_panels(), [&](std::int64_t task, int) {
    const std::int64_t begin = task % tasks * grain;
    rows_.QuantizeBlocks(*ctx_.table, task / tasks, begin, std::min(begin + grain, blocks));
  });
}

void Product::RunTask(std::int64_t task, int thread_idx) const {
  const LinearJob* job = jobs_.data();
  for (; task >= NumTasks(*job); ++job) task -= NumTasks(*job);
  const Packed& weight = job->weight->packed();
  const std::int64_t begin = task * TaskOutputs(*job);
  const std::int64_t end = std::min(begin + TaskOutputs(*job), weight.out_features);
  if (own_panels_ && weight.path == Packed::Path::kQuant) {
    const kernels::QuantPanel x = own_panels_->Get(thread_idx);
    MultiplyPanel(*job, {x, rows_.rows, job->out.f32() + begin, weight.out_features}, begin, end);
  } else {
    float* expanded = has_expand_ ? expanded_ + thread_idx * kExpandOutputs * rows_.depth : nullptr;
    MultiplySlice(*job, rows_, {begin, end}, expanded);
  }
}

void Product::Run() {
  if (has_quant_ && !own_panels_) Quantize();
  if (has_bf16_) RoundRows(ctx_, rows_.x, rows_.rows * rows_.depth, rows_.rounded);
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
void RunByPanels(OpContext& ctx, const PanelInput& input, std::int64_t rows,
                 std::span<const LinearJob> jobs) {
  const PanelCut cut = CutPanels(rows, ctx.pool->num_threads());
  const std::int64_t panel_bytes = PanelBytes(cut.panel_rows, input.depth);
  const std::int64_t bytes = panel_bytes + input.ScratchBytes(cut.panel_rows);
  std::byte* memory = ctx.scratch->Get(static_cast<std::size_t>(ctx.pool->num_threads() * bytes));
  ctx.pool->ForEach(cut.num_panels, [&](std::int64_t panel_idx, int thread_idx) {
    const std::int64_t first = panel_idx * cut.panel_rows;
    const std::int64_t count = std::min(cut.panel_rows, rows - first);
    std::byte* own = memory + thread_idx * bytes;
    const kernels::QuantPanel panel = PanelIn(own, count, input.depth);
    QuantizeRows(*ctx.table, input.From(first), count, panel, own + panel_bytes);
    for (const LinearJob& job : jobs) {
      const std::int64_t outputs = job.weight->out_features();
      MultiplyPanel(job, {panel, count, job.out.f32() + first * outputs, outputs}, 0, outputs);
    }
  });
}

}  // namespace

void Linear(OpContext& ctx, ConstTensorView x, std::span<const LinearJob> jobs,
            const InputNorm& norm) {
  CheckJobs(x, jobs);
  const std::int64_t rows = x.dim(0);
  if (rows == 0) return;
  if (CanRunByPanels(jobs, rows, ctx.pool->num_threads())) {
    RunByPanels(ctx, PanelInput::Of(x, norm), rows, jobs);
  } else if (norm.weight.empty() || (rows <= kernels::kPanelRows && AreQuantized(jobs))) {
    Product(ctx, x, jobs, norm).Run();
  } else {
    RmsNorm(ctx, x, norm.weight, norm.eps, norm.normed);
    Product(ctx, norm.normed, jobs, {}).Run();
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
