#include "ops/gated_mlp.h"

#include <algorithm>

#include "ops/panel.h"

namespace quire::ops {
namespace {

using kernels::kPanelRows;
using kernels::kQuantValues;

// One call's panels of rows, each the work of one thread.
class PanelMlp {
 public:
  PanelMlp(OpContext& ctx, ConstTensorView x, const GatedMlpJobs& jobs)
      : ctx_(ctx),
        x_(x.f32()),
        rows_(x.dim(0)),
        depth_(x.dim(1)),
        inner_(jobs.down.weight->in_features()),
        jobs_(jobs),
        cut_(CutPanels(rows_, ctx.pool->num_threads())) {}

  void Run() {
    const std::int64_t bytes = InputBytes() + InnerBytes() + 2 * kValuesBytes;
    std::byte* memory =
        ctx_.scratch->Get(static_cast<std::size_t>(ctx_.pool->num_threads() * bytes));
    ctx_.pool->ForEach(cut_.num_panels, [&](std::int64_t panel, int thread_idx) {
      RunPanel(panel * cut_.panel_rows, memory + thread_idx * bytes);
    });
  }

 private:
  // f32 values of all rows of one block.
  static constexpr std::int64_t kValuesBytes = kPanelRows * kQuantValues * 4;

  std::int64_t InputBytes() const { return PanelBytes(cut_.panel_rows, depth_); }
  std::int64_t InnerBytes() const { return PanelBytes(cut_.panel_rows, inner_); }

  void RunPanel(std::int64_t first_row, std::byte* memory) const {
    const std::int64_t rows = std::min(cut_.panel_rows, rows_ - first_row);
    const kernels::QuantPanel input = PanelIn(memory, rows, depth_);
    const kernels::QuantPanel inner = PanelIn(memory + InputBytes(), rows, inner_);
    auto* values = reinterpret_cast<float*>(memory + InputBytes() + InnerBytes());
    QuantizeRows(*ctx_.table, x_ + first_row * depth_, rows, depth_, input);
    for (std::int64_t block = 0; block < inner_ / kQuantValues; ++block) {
      RunBlock(input, rows, block, values);
      QuantizeRows(*ctx_.table, values, rows, kQuantValues, PanelFrom(inner, rows, block));
    }
    const std::int64_t outputs = jobs_.down.weight->out_features();
    float* out = jobs_.down.out.f32() + first_row * outputs;
    MultiplyPanel(jobs_.down, {inner, rows, out, outputs}, 0, outputs);
  }

  // values = [rows, 32] of act(gate) * up.
  void RunBlock(const kernels::QuantPanel& input, std::int64_t rows, std::int64_t block,
                float* values) const {
    float* up = values + kPanelRows * kQuantValues;
    const std::int64_t begin = block * kQuantValues;
    MultiplyPanel(jobs_.gate, {input, rows, values, kQuantValues}, begin, begin + kQuantValues);
    MultiplyPanel(jobs_.up, {input, rows, up, kQuantValues}, begin, begin + kQuantValues);
    const auto activate = ctx_.table->activation[static_cast<int>(jobs_.activation)];
    activate(values, up, values, rows * kQuantValues);
  }

  OpContext& ctx_;
  const float* x_;
  std::int64_t rows_;
  std::int64_t depth_;
  std::int64_t inner_;
  const GatedMlpJobs& jobs_;
  PanelCut cut_;
};

}  // namespace

void GatedMlp(OpContext& ctx, ConstTensorView x, const GatedMlpJobs& jobs) {
  const LinearJob all[] = {jobs.gate, jobs.up, jobs.down};
  QUIRE_CHECK(jobs.gate.weight->out_features() == jobs.down.weight->in_features());
  QUIRE_CHECK(jobs.up.weight->out_features() == jobs.down.weight->in_features());
  QUIRE_CHECK(!jobs.gate.accumulate && !jobs.up.accumulate);
  if (CanRunByPanels(all, x.dim(0), ctx.pool->num_threads())) {
    for (const LinearJob& job : {jobs.gate, jobs.up})
      QUIRE_CHECK(job.weight->in_features() == x.dim(1));
    QUIRE_CHECK(jobs.down.out.dim(0) == x.dim(0));
    PanelMlp(ctx, x, jobs).Run();
    return;
  }
  Linear(ctx, x, {all, 2});
  GatedActivation(ctx, jobs.activation, jobs.gate.out, jobs.up.out, jobs.gate.out);
  Linear(ctx, jobs.gate.out, {all + 2, 1});
}

}  // namespace quire::ops
