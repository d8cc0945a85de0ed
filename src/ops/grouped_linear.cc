#include "ops/grouped_linear.h"

#include <algorithm>

#include "ops/panel.h"
#include "ops/slice.h"

namespace quire::ops {
namespace {

using kernels::kPanelRows;
using kernels::kQuantValues;
using Packed = LinearWeight::Packed;

// As in Linear: enough that a thread which loses its core does not hold up the others.
constexpr std::int64_t kTasksPerThread = 8;
// Reading and decoding a weight takes as long as multiplying it with so many rows.
constexpr std::int64_t kWeightRows = 4;

// How one group is cut; those of all groups lie in scratch memory, the last one past the end.
struct GroupCut {
  std::int64_t first_task;
  std::int64_t first_panel;
  std::int64_t grains_per_task;
};

class GroupedProduct {
 public:
  GroupedProduct(OpContext& ctx, ConstTensorView x, std::span<const std::int32_t> starts,
                 std::span<const GroupedJob> jobs);
  void Run();

 private:
  void LookAtWeights();
  void TakeScratch();
  void CutTasks();
  void Quantize() const;
  void RunTask(std::int64_t task, int thread_idx) const;

  std::int64_t num_groups() const { return static_cast<std::int64_t>(starts_.size()) - 1; }
  std::int64_t RowsOf(std::int64_t group) const {
    const auto g = static_cast<std::size_t>(group);
    return starts_[g + 1] - starts_[g];
  }
  SharedRows GroupRows(std::int64_t group) const {
    const std::int64_t first = starts_[static_cast<std::size_t>(group)];
    std::byte* panels = has_quant_ ? panels_ + first * PanelBytes(1, depth()) : nullptr;
    std::uint16_t* rounded = has_bf16_ ? rounded_ + first * depth() : nullptr;
    return {x_.f32() + first * depth(), RowsOf(group), depth(), panels, rounded};
  }
  // The memory of a thread for weights that are dequantized on the way.
  float* Expanded(int thread_idx) const {
    return has_expand_ ? expanded_ + thread_idx * kExpandOutputs * depth() : nullptr;
  }
  std::int64_t depth() const { return x_.dim(1); }
  std::int64_t NumTasks(const GroupedJob& job, std::int64_t group) const;
  std::int64_t GrainsOf(const GroupedJob& job, std::int64_t group) const;
  LinearJob JobOf(const GroupedJob& job, std::int64_t group) const;

  OpContext& ctx_;
  ConstTensorView x_;
  std::span<const std::int32_t> starts_;
  std::span<const GroupedJob> jobs_;
  bool has_quant_ = false;
  bool has_bf16_ = false;
  bool has_expand_ = false;
  GroupCut* cuts_ = nullptr;
  std::byte* panels_ = nullptr;
  float* expanded_ = nullptr;         // [num_threads, kExpandOutputs, depth]
  std::uint16_t* rounded_ = nullptr;  // [rows, depth] bf16
};

// The last of `cuts` [0, count) whose `first` is at most `value`: that which holds it, for those
// that hold nothing begin where the next one does.
template <typename Member>
std::int64_t FindCut(const GroupCut* cuts, std::int64_t count, std::int64_t value, Member first) {
  const GroupCut* after =
      std::upper_bound(cuts, cuts + count, value,
                       [&](std::int64_t v, const GroupCut& cut) { return v < cut.*first; });
  return after - cuts - 1;
}

GroupedProduct::GroupedProduct(OpContext& ctx, ConstTensorView x,
                               std::span<const std::int32_t> starts,
                               std::span<const GroupedJob> jobs)
    : ctx_(ctx), x_(x), starts_(starts), jobs_(jobs) {
  LookAtWeights();
  TakeScratch();
  CutTasks();
}

void GroupedProduct::LookAtWeights() {
  for (const GroupedJob& job : jobs_) {
    for (const LinearWeight* weight : job.weights) {
      if (weight == nullptr) continue;
      QUIRE_CHECK(weight->in_features() == depth());
      QUIRE_CHECK(weight->out_features() == job.out.dim(1));
      has_quant_ |= weight->packed().path == Packed::Path::kQuant;
      has_bf16_ |= weight->packed().path == Packed::Path::kBf16;
      has_expand_ |= weight->packed().path == Packed::Path::kExpand;
    }
  }
}

void GroupedProduct::TakeScratch() {
  const std::int64_t cut_bytes =
      CeilDiv((num_groups() + 1) * static_cast<std::int64_t>(sizeof(GroupCut)), 64) * 64;
  const std::int64_t panel_bytes = has_quant_ ? x_.dim(0) * PanelBytes(1, depth()) : 0;
  const std::int64_t expanded =
      has_expand_ ? ctx_.pool->num_threads() * kExpandOutputs * depth() : 0;
  const std::int64_t rounded = has_bf16_ ? x_.dim(0) * depth() : 0;
  std::byte* memory = ctx_.scratch->Get(
      static_cast<std::size_t>(cut_bytes + panel_bytes + expanded * 4 + rounded * 2));
  cuts_ = reinterpret_cast<GroupCut*>(memory);
  panels_ = memory + cut_bytes;
  expanded_ = reinterpret_cast<float*>(panels_ + panel_bytes);
  rounded_ = reinterpret_cast<std::uint16_t*>(expanded_ + expanded);
}

// Outputs of a group's job, in units of what a slice may be.
std::int64_t GroupedProduct::GrainsOf(const GroupedJob& job, std::int64_t group) const {
  const LinearWeight* weight = job.weights[static_cast<std::size_t>(group)];
  if (weight == nullptr || RowsOf(group) == 0) return 0;
  return CeilDiv(weight->out_features(), GrainOf(weight->packed()));
}

std::int64_t GroupedProduct::NumTasks(const GroupedJob& job, std::int64_t group) const {
  return CeilDiv(GrainsOf(job, group), cuts_[group].grains_per_task);
}

// Tasks of equal work: the more rows a group has, the fewer outputs.
void GroupedProduct::CutTasks() {
  std::int64_t work = 0;
  for (std::int64_t g = 0; g < num_groups(); ++g) {
    for (const GroupedJob& job : jobs_) work += GrainsOf(job, g) * (RowsOf(g) + kWeightRows);
  }
  const std::int64_t work_per_task = work / (ctx_.pool->num_threads() * kTasksPerThread);
  GroupCut next = {0, 0, 1};
  for (std::int64_t g = 0; g < num_groups(); ++g) {
    std::int64_t& grains = next.grains_per_task;
    grains = std::max<std::int64_t>(1, work_per_task / (RowsOf(g) + kWeightRows));
    // Kernels take tiles two at a time.
    if (RowsOf(g) > 1 || grains > 1) grains = (grains + 1) / 2 * 2;
    cuts_[g] = next;
    for (const GroupedJob& job : jobs_) next.first_task += NumTasks(job, g);
    next.first_panel += CeilDiv(RowsOf(g), kPanelRows);
  }
  cuts_[num_groups()] = next;
}

void GroupedProduct::Quantize() const {
  const std::int64_t blocks = depth() / kQuantValues;
  const std::int64_t num_panels = cuts_[num_groups()].first_panel;
  const std::int64_t grain = QuantizeGrain(CeilDiv(x_.dim(0), num_panels));
  const std::int64_t tasks = CeilDiv(blocks, grain);
  ctx_.pool->ForEach(num_panels * tasks, [&](std::int64_t task, int) {
    const std::int64_t panel = task / tasks;
    const std::int64_t group = FindCut(cuts_, num_groups(), panel, &GroupCut::first_panel);
    const std::int64_t begin = task % tasks * grain;
    GroupRows(group).QuantizeBlocks(*ctx_.table, panel - cuts_[group].first_panel, begin,
                                    std::min(begin + grain, blocks));
  });
}

// A group's product as one of its own.
LinearJob GroupedProduct::JobOf(const GroupedJob& job, std::int64_t group) const {
  const std::int64_t width = job.out.dim(1);
  float* out = job.out.f32() + starts_[static_cast<std::size_t>(group)] * width;
  LinearJob own = {job.weights[static_cast<std::size_t>(group)],
                   F32View(out, {RowsOf(group), width})};
  if (!job.bias.empty()) own.bias = F32View(job.bias.f32() + group * width, {width});
  own.accumulate = job.accumulate;
  return own;
}

void GroupedProduct::RunTask(std::int64_t task, int thread_idx) const {
  const std::int64_t group = FindCut(cuts_, num_groups(), task, &GroupCut::first_task);
  task -= cuts_[group].first_task;
  const GroupedJob* job = jobs_.data();
  for (; task >= NumTasks(*job, group); ++job) task -= NumTasks(*job, group);
  const LinearJob own = JobOf(*job, group);
  const std::int64_t outputs = GrainOf(own.weight->packed()) * cuts_[group].grains_per_task;
  const std::int64_t begin = task * outputs;
  MultiplySlice(own, GroupRows(group),
                {begin, std::min(begin + outputs, own.weight->out_features())},
                Expanded(thread_idx));
}

void GroupedProduct::Run() {
  if (has_quant_) Quantize();
  if (has_bf16_) RoundRows(ctx_, x_.f32(), x_.dim(0) * depth(), rounded_);
  ctx_.pool->ForEach(cuts_[num_groups()].first_task,
                     [&](std::int64_t task, int thread_idx) { RunTask(task, thread_idx); });
}

void CheckJobs(ConstTensorView x, std::span<const std::int32_t> starts,
               std::span<const GroupedJob> jobs) {
  QUIRE_CHECK(x.shape().rank() == 2 && !starts.empty());
  QUIRE_CHECK(starts.front() == 0 && starts.back() == x.dim(0));
  QUIRE_CHECK(std::is_sorted(starts.begin(), starts.end()));
  const auto num_groups = static_cast<std::int64_t>(starts.size()) - 1;
  for (const GroupedJob& job : jobs) {
    QUIRE_CHECK(static_cast<std::int64_t>(job.weights.size()) == num_groups);
    QUIRE_CHECK(job.out.dim(0) == x.dim(0));
    QUIRE_CHECK(job.bias.empty() || job.bias.shape() == Shape({num_groups, job.out.dim(1)}));
  }
}

}  // namespace

void GroupedLinear(OpContext& ctx, ConstTensorView x, std::span<const std::int32_t> starts,
                   std::span<const GroupedJob> jobs) {
  CheckJobs(x, starts, jobs);
  if (x.dim(0) > 0) GroupedProduct(ctx, x, starts, jobs).Run();
}

}  // namespace quire::ops
