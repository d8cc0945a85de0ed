#include "ops/gated_mlp.h"

#include <algorithm>

#include "ops/panel.h"

namespace quire::ops {
namespace {

using kernels::kPanelRows;
using kernels::kQuantValues;

// With fewer rows memory decides, and a matrix read in one stream from end to end is faster than
// two read by turns.
constexpr std::int64_t kMinRows = 8;
// Tasks per thread, as in Linear.
constexpr std::int64_t kTasksPerThread = 8;
// f32 values of one matrix that a thread holds at once: two blocks of a whole panel.
constexpr std::int64_t kValues = 2 * kPanelRows * kQuantValues;
constexpr std::int64_t kValuesBytes = kValues * 4;

// What both ways of running the block share.
struct Mlp {
  Mlp(OpContext& op_ctx, ConstTensorView x, const GatedMlpJobs& mlp_jobs, const InputNorm& norm)
      : ctx(op_ctx),
        input(PanelInput::Of(x, norm)),
        rows(x.dim(0)),
        inner(mlp_jobs.down.weight->in_features()),
        outputs(mlp_jobs.down.weight->out_features()),
        jobs(mlp_jobs) {}

  // Blocks [begin, end) of `out` = act(gate) * up of the rows of `input`; as many together as
  // there is room for.
  struct Rows {
    const kernels::QuantPanel& panel;
    std::int64_t count;
  };
  void RunBlocks(const Rows& x, std::int64_t begin, std::int64_t end, float* values,
                 const kernels::QuantPanel& out) const {
    const std::int64_t most = kValues / (x.count * kQuantValues);
    for (std::int64_t block = begin; block < end; block += most) {
      const std::int64_t first = block * kQuantValues;
      const std::int64_t last = std::min(block + most, end) * kQuantValues;
      const std::int64_t width = last - first;
      MultiplyPanel(jobs.gate, {x.panel, x.count, values, width}, first, last);
      MultiplyPanel(jobs.up, {x.panel, x.count, values + kValues, width}, first, last);
      const auto activate = ctx.table->activation[static_cast<int>(jobs.activation)];
      activate(values, values + kValues, values, x.count * width);
      QuantizeRows(*ctx.table, {values, width}, x.count, PanelFrom(out, x.count, block));
    }
  }

  OpContext& ctx;
  PanelInput input;
  std::int64_t rows;
  std::int64_t inner;
  std::int64_t outputs;
  const GatedMlpJobs& jobs;
};

// Each thread takes panels of rows.
void RunByPanels(const Mlp& mlp) {
  const int num_threads = mlp.ctx.pool->num_threads();
  const PanelCut cut = CutPanels(mlp.rows, num_threads);
  const std::int64_t input_bytes = PanelBytes(cut.panel_rows, mlp.input.depth);
  const std::int64_t inner_bytes = PanelBytes(cut.panel_rows, mlp.inner);
  // Normed rows first, then the values of gate and up.
  const std::int64_t values_bytes =
      std::max(2 * kValuesBytes, mlp.input.ScratchBytes(cut.panel_rows));
  const std::int64_t bytes = input_bytes + inner_bytes + values_bytes;
  std::byte* memory = mlp.ctx.scratch->Get(static_cast<std::size_t>(num_threads * bytes));
  mlp.ctx.pool->ForEach(cut.num_panels, [&](std::int64_t panel, int thread_idx) {
    std::byte* own = memory + thread_idx * bytes;
    const std::int64_t first_row = panel * cut.panel_rows;
    const std::int64_t rows = std::min(cut.panel_rows, mlp.rows - first_row);
    const kernels::QuantPanel input = PanelIn(own, rows, mlp.input.depth);
    const kernels::QuantPanel inner = PanelIn(own + input_bytes, rows, mlp.inner);
    std::byte* values = own + input_bytes + inner_bytes;
    QuantizeRows(*mlp.ctx.table, mlp.input.From(first_row), rows, input, values);
    mlp.RunBlocks({input, rows}, 0, mlp.inner / kQuantValues, reinterpret_cast<float*>(values),
                  inner);
    float* out = mlp.jobs.down.out.f32() + first_row * mlp.outputs;
    MultiplyPanel(mlp.jobs.down, {inner, rows, out, mlp.outputs}, 0, mlp.outputs);
  });
}

// All rows are one panel: threads take blocks of the inner width, then outputs.
void RunByColumns(const Mlp& mlp) {
  const int num_threads = mlp.ctx.pool->num_threads();
  const std::int64_t inner_bytes = PanelBytes(mlp.rows, mlp.inner);
  const std::int64_t values_bytes = num_threads * 2 * kValuesBytes;
  std::byte* memory = mlp.ctx.scratch->Get(static_cast<std::size_t>(
      inner_bytes + values_bytes + OwnPanels::Bytes(mlp.input, mlp.rows, num_threads)));
  const kernels::QuantPanel inner = PanelIn(memory, mlp.rows, mlp.inner);
  const OwnPanels inputs(mlp.ctx, mlp.input, mlp.rows, memory + inner_bytes + values_bytes);
  const std::int64_t tasks = num_threads * kTasksPerThread;

  const std::int64_t blocks = mlp.inner / kQuantValues;
  const std::int64_t blocks_each = std::max<std::int64_t>(1, blocks / tasks);
  mlp.ctx.pool->ForEach(CeilDiv(blocks, blocks_each), [&](std::int64_t task, int thread_idx) {
    auto* values = reinterpret_cast<float*>(memory + inner_bytes + thread_idx * 2 * kValuesBytes);
    const kernels::QuantPanel input = inputs.Get(thread_idx);
    const std::int64_t end = std::min((task + 1) * blocks_each, blocks);
    mlp.RunBlocks({input, mlp.rows}, task * blocks_each, end, values, inner);
  });

  const std::int64_t outputs_each =
      std::max<std::int64_t>(1, mlp.outputs / kQuantValues / tasks) * kQuantValues;
  mlp.ctx.pool->ForEach(CeilDiv(mlp.outputs, outputs_each), [&](std::int64_t task, int) {
    const std::int64_t begin = task * outputs_each;
    const std::int64_t end = std::min(begin + outputs_each, mlp.outputs);
    float* out = mlp.jobs.down.out.f32() + begin;
    MultiplyPanel(mlp.jobs.down, {inner, mlp.rows, out, mlp.outputs}, begin, end);
  });
}

void CheckJobs(ConstTensorView x, const GatedMlpJobs& jobs) {
  QUIRE_CHECK(x.shape().rank() == 2);
  for (const LinearJob& job : {jobs.gate, jobs.up}) {
    QUIRE_CHECK(job.weight->in_features() == x.dim(1) && !job.accumulate);
    QUIRE_CHECK(job.weight->out_features() == jobs.down.weight->in_features());
  }
  QUIRE_CHECK(jobs.down.out.dim(0) == x.dim(0));
  QUIRE_CHECK(jobs.down.out.dim(1) == jobs.down.weight->out_features());
}

}  // namespace

void GatedMlp(OpContext& ctx, ConstTensorView x, const GatedMlpJobs& jobs, const InputNorm& norm) {
  CheckJobs(x, jobs);
  if (x.dim(0) == 0) return;
  const LinearJob all[] = {jobs.gate, jobs.up, jobs.down};
  if (CanRunByPanels(all, x.dim(0), ctx.pool->num_threads())) {
    RunByPanels(Mlp(ctx, x, jobs, norm));
  } else if (AreQuantized(all) && x.dim(0) >= kMinRows && x.dim(0) <= kPanelRows) {
    RunByColumns(Mlp(ctx, x, jobs, norm));
  } else {
    Linear(ctx, x, {all, 2}, norm);
    GatedActivation(ctx, jobs.activation, jobs.gate.out, jobs.up.out, jobs.gate.out);
    Linear(ctx, jobs.gate.out, {all + 2, 1});
  }
}

}  // namespace quire::ops
