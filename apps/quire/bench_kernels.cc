// quire bench kernels: each operator alone, held against what the machine can do.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>
#include <vector>

#include "apps/quire/bench.h"
#include "apps/quire/bench_machine.h"
#include "apps/quire/flags.h"
#include "apps/quire/terminal.h"
#include "base/strings.h"
#include "ops/attention.h"
#include "ops/grouped_linear.h"
#include "ops/linear.h"

namespace quire {

namespace {

using Clock = std::chrono::steady_clock;

struct MatmulShape {
  DType type;
  std::int64_t outputs;
  std::int64_t depth;
};

// SmolLM2-135M, Llama 3.2 1B, then the other types.
constexpr MatmulShape kShapes[] = {
    {DType::kQ4_1, 576, 576},     {DType::kQ4_1, 1536, 576},   {DType::kQ4_1, 576, 1536},
    {DType::kQ8_0, 49152, 576},   {DType::kQ4_0, 2048, 2048},  {DType::kQ4_0, 8192, 2048},
    {DType::kQ4_K, 8192, 2048},   {DType::kQ8_0, 8192, 2048},  {DType::kQ5_0, 2048, 2048},
    {DType::kQ5_1, 2048, 2048},   {DType::kQ2_K, 2048, 2048},  {DType::kQ3_K, 2048, 2048},
    {DType::kQ5_K, 2048, 2048},   {DType::kQ6_K, 2048, 2048},  {DType::kIQ4_NL, 2048, 2048},
    {DType::kIQ4_XS, 2048, 2048}, {DType::kMXFP4, 2048, 2048}, {DType::kBF16, 2048, 2048},
    {DType::kF16, 2048, 2048},    {DType::kF32, 2048, 2048},
};
constexpr int kRowCounts[] = {1, 4, 16, 64, 512};
constexpr std::int32_t kContexts[] = {128, 1024, 4096};

// More than the caches keep from call to call.
constexpr std::size_t kWorkingSet = std::size_t{96} << 20;
// Every weight type reads this pattern as small ordinary numbers.
constexpr int kPattern = 0x11;

constexpr double kSecondsEach = 0.15;
constexpr int kLeastCalls = 3;

// Mean seconds of a call, over the quicker half of the calls.
template <typename F>
double TimeCalls(const F& call) {
  call();
  std::vector<double> seconds;
  const auto begin = Clock::now();
  auto now = begin;
  while (seconds.size() < kLeastCalls ||
         std::chrono::duration<double>(now - begin).count() < kSecondsEach) {
    const auto start = now;
    call();
    now = Clock::now();
    seconds.push_back(std::chrono::duration<double>(now - start).count());
  }
  std::sort(seconds.begin(), seconds.end());
  const std::size_t half = (seconds.size() + 1) / 2;
  double sum = 0.0;
  for (std::size_t i = 0; i < half; ++i) sum += seconds[i];
  return sum / static_cast<double>(half);
}

// One measurement and what bounds it.
struct KernelTime {
  std::string name;
  std::string shape;
  std::int64_t rows = 0;
  double seconds = 0.0;
  double bytes = 0.0;
  double ops = 0.0;
  double peak_ops_per_s = 0.0;
};

double Share(const KernelTime& time, const MachineLimits& limits, bool& is_memory) {
  const double by_memory = time.bytes / limits.memory_bytes_per_s;
  const double by_arithmetic = time.ops / time.peak_ops_per_s;
  is_memory = by_memory >= by_arithmetic;
  return std::max(by_memory, by_arithmetic) / time.seconds;
}

double PeakFor(DType type, const ops::LinearWeight& weight, const MachineLimits& limits) {
  const bool is_float = type == DType::kF32 || type == DType::kF16 || type == DType::kBF16;
  if (is_float || limits.int8_ops_per_s == 0.0) return limits.f32_ops_per_s;
  const double bits =
      8.0 * static_cast<double>(weight.num_bytes()) /
      (static_cast<double>(weight.out_features()) * static_cast<double>(weight.in_features()));
  return bits < 5.5 ? limits.four_bit_ops_per_s() : limits.int8_ops_per_s;
}

// Copies of one matrix, which calls take in turn.
class MatmulBench {
 public:
  MatmulBench(ops::OpContext& ctx, const MatmulShape& shape) : ctx_(ctx), shape_(shape) {}

  Status Prepare() {
    const auto bytes =
        static_cast<std::size_t>(*BytesOf(shape_.type, shape_.outputs * shape_.depth));
    for (std::size_t used = 0; used < kWorkingSet; used += bytes) {
      QUIRE_ASSIGN_OR_RETURN(Buffer source, Buffer::Allocate(bytes));
      std::memset(source.data(), kPattern, bytes);
      QUIRE_ASSIGN_OR_RETURN(ops::LinearWeight weight,
                             ops::LinearWeight::Create(
                                 ctx_, {source.data(), shape_.type, {shape_.outputs, shape_.depth}},
                                 ops::MatmulPrecision::kFast));
      if (!weight.owns_copy()) sources_.push_back(std::move(source));
      weights_.push_back(std::move(weight));
    }
    return {};
  }

  KernelTime Run(std::int64_t rows, const MachineLimits& limits) {
    const std::vector<float> x(static_cast<std::size_t>(rows * shape_.depth), 0.5F);
    std::vector<float> out(static_cast<std::size_t>(rows * shape_.outputs));
    std::size_t next = 0;
    const double seconds = TimeCalls([&] {
      const ops::LinearJob job = {&weights_[next++ % weights_.size()],
                                  F32View(out.data(), {rows, shape_.outputs})};
      ops::Linear(ctx_, F32View(x.data(), {rows, shape_.depth}), {&job, 1});
    });
    return {StrCat("matmul ", ToString(shape_.type)),
            StrCat(shape_.outputs, "x", shape_.depth),
            rows,
            seconds,
            static_cast<double>(weights_[0].num_bytes()),
            2.0 * static_cast<double>(rows * shape_.outputs * shape_.depth),
            PeakFor(shape_.type, weights_[0], limits)};
  }

 private:
  ops::OpContext& ctx_;
  MatmulShape shape_;
  std::vector<Buffer> sources_;  // of the weights that read them in place
  std::vector<ops::LinearWeight> weights_;
};

// A layer of experts as large models have them; each call's rows go to as many of them as there
// are, from another one on.
constexpr MatmulShape kExpertShape = {DType::kQ4_0, 768, 2048};
constexpr std::int64_t kExperts = 128;
constexpr int kGroupedRowCounts[] = {8, 128, 1024};

class GroupedBench {
 public:
  explicit GroupedBench(ops::OpContext& ctx) : ctx_(ctx) {}

  Status Prepare() {
    const MatmulShape& shape = kExpertShape;
    const auto bytes = static_cast<std::size_t>(*BytesOf(shape.type, shape.outputs * shape.depth));
    QUIRE_ASSIGN_OR_RETURN(source_, Buffer::Allocate(bytes));
    std::memset(source_.data(), kPattern, bytes);
    for (std::int64_t i = 0; i < kExperts; ++i) {
      QUIRE_ASSIGN_OR_RETURN(ops::LinearWeight weight,
                             ops::LinearWeight::Create(
                                 ctx_, {source_.data(), shape.type, {shape.outputs, shape.depth}},
                                 ops::MatmulPrecision::kFast));
      weights_.push_back(std::move(weight));
    }
    return {};
  }

  KernelTime Run(std::int64_t rows, const MachineLimits& limits) {
    const std::int64_t outputs = kExpertShape.outputs, depth = kExpertShape.depth;
    const std::vector<float> x(static_cast<std::size_t>(rows * depth), 0.5F);
    std::vector<float> out(static_cast<std::size_t>(rows * outputs));
    const std::int64_t busy = std::min(rows, kExperts);
    std::vector<std::int32_t> starts = {0};
    std::vector<const ops::LinearWeight*> experts(static_cast<std::size_t>(busy));
    for (std::int64_t i = 1; i <= busy; ++i) {
      starts.push_back(static_cast<std::int32_t>(rows * i / busy));
    }
    std::size_t next = 0;
    const double seconds = TimeCalls([&] {
      for (const ops::LinearWeight*& expert : experts) expert = &weights_[next++ % weights_.size()];
      const ops::GroupedJob job = {experts, F32View(out.data(), {rows, outputs})};
      ops::GroupedLinear(ctx_, F32View(x.data(), {rows, depth}), starts, {&job, 1});
    });
    return {StrCat("grouped ", ToString(kExpertShape.type)),
            StrCat(kExperts, "x", outputs, "x", depth),
            rows,
            seconds,
            static_cast<double>(busy) * static_cast<double>(weights_[0].num_bytes()),
            2.0 * static_cast<double>(rows * outputs * depth),
            PeakFor(kExpertShape.type, weights_[0], limits)};
  }

 private:
  ops::OpContext& ctx_;
  Buffer source_;  // of all: what is read is what each has packed, or this where none packs
  std::vector<ops::LinearWeight> weights_;
};

// The last `rows` positions of one context, heads as in SmolLM2-135M, over bfloat16 pages.
Result<KernelTime> TimeAttention(ops::OpContext& ctx, std::int32_t rows, std::int32_t context,
                                 const MachineLimits& limits) {
  constexpr std::int64_t kHeads = 9, kKvHeads = 3, kHeadDim = 64, kBlockSize = 16;
  const std::int64_t blocks = (context + kBlockSize - 1) / kBlockSize;
  const Shape shape = {blocks, kKvHeads, kBlockSize, kHeadDim};
  const std::size_t bytes = static_cast<std::size_t>(*BytesOf(DType::kBF16, shape.num_values()));
  QUIRE_ASSIGN_OR_RETURN(Buffer k, Buffer::Allocate(bytes));
  QUIRE_ASSIGN_OR_RETURN(Buffer v, Buffer::Allocate(bytes));
  std::vector<std::int32_t> table;
  for (std::int64_t b = 0; b < blocks; ++b) table.push_back(static_cast<std::int32_t>(b));
  const std::vector<std::int32_t> q_start = {0, rows}, lens = {context};
  const std::vector<float> q(static_cast<std::size_t>(rows * kHeads * kHeadDim), 0.5F);
  std::vector<float> out(q.size());
  const Shape q_shape = {rows, kHeads, kHeadDim};
  const double seconds = TimeCalls([&] {
    ops::PagedAttention(ctx, F32View(q.data(), q_shape),
                        {{k.data(), DType::kBF16, shape}, {v.data(), DType::kBF16, shape}},
                        {.q_start = q_start,
                         .context_lens = lens,
                         .block_table = table,
                         .max_blocks = static_cast<std::int32_t>(blocks),
                         .slots = {}},
                        {.scale = 0.125F}, F32View(out.data(), q_shape));
  });
  const double seen = rows * (context - (rows - 1) / 2.0);
  return KernelTime{"attention BF16",
                    StrCat("context ", context),
                    rows,
                    seconds,
                    2.0 * static_cast<double>(bytes),
                    4.0 * seen * kHeads * kHeadDim,
                    limits.f32_ops_per_s};
}

Json ToJson(const KernelTime& time, const MachineLimits& limits) {
  bool is_memory = false;
  const double share = Share(time, limits, is_memory);
  return JsonObject{{"op", Json(time.name)},
                    {"shape", Json(time.shape)},
                    {"rows", Json(time.rows)},
                    {"us", Json(time.seconds * 1e6)},
                    {"gb_per_s", Json(time.bytes / time.seconds / 1e9)},
                    {"gop_per_s", Json(time.ops / time.seconds / 1e9)},
                    {"share", Json(share)},
                    {"limit", Json(is_memory ? "memory" : "arithmetic")}};
}

std::string Padded(const std::string& text, std::size_t width) {
  return text.size() < width ? text + std::string(width - text.size(), ' ') : text + " ";
}

std::string RightOf(const std::string& text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

std::string Row(const KernelTime& time, const MachineLimits& limits) {
  bool is_memory = false;
  const double share = Share(time, limits, is_memory);
  return StrCat(Padded(time.name, 16), Padded(time.shape, 14), RightOf(StrCat(time.rows), 4),
                RightOf(Fixed(time.seconds * 1e6, 1), 11),
                RightOf(Fixed(time.bytes / time.seconds / 1e9, 1), 8),
                RightOf(Fixed(time.ops / time.seconds / 1e9, 1), 9),
                RightOf(Fixed(share * 100.0, 0), 6), " % of ", is_memory ? "memory" : "arithmetic",
                "\n");
}

// Those whose name and shape contain `only`.
Result<std::vector<KernelTime>> TimeAll(ops::OpContext& ctx, const MachineLimits& limits,
                                        const std::string& only) {
  ProgressLine progress;
  std::vector<KernelTime> times;
  const auto is_wanted = [&](const std::string& name) {
    const bool wanted = name.find(only) != std::string::npos;
    if (wanted) progress.Show(name);
    return wanted;
  };
  for (const MatmulShape& shape : kShapes) {
    if (!is_wanted(StrCat("matmul ", ToString(shape.type), " ", shape.outputs, "x", shape.depth))) {
      continue;
    }
    MatmulBench bench(ctx, shape);
    QUIRE_RETURN_IF_ERROR(bench.Prepare());
    for (const int rows : kRowCounts) times.push_back(bench.Run(rows, limits));
  }
  if (is_wanted(StrCat("grouped ", ToString(kExpertShape.type)))) {
    GroupedBench bench(ctx);
    QUIRE_RETURN_IF_ERROR(bench.Prepare());
    for (const int rows : kGroupedRowCounts) times.push_back(bench.Run(rows, limits));
  }
  if (!is_wanted("attention BF16")) return times;
  for (const std::int32_t context : kContexts) {
    QUIRE_ASSIGN_OR_RETURN(KernelTime time, TimeAttention(ctx, 1, context, limits));
    times.push_back(std::move(time));
  }
  QUIRE_ASSIGN_OR_RETURN(KernelTime time, TimeAttention(ctx, 512, 512, limits));
  times.push_back(std::move(time));
  return times;
}

}  // namespace

Status RunBenchKernels(Args args) {
  BenchOutput output;
  int threads = 0;
  std::string only;
  FlagSet flags("bench kernels [flags]",
                "Times each operator alone on weights that no cache holds, and tells its share of "
                "what memory or arithmetic of this machine allow, measured in the same run.");
  flags.Add("threads", threads, "Threads; 0: one a physical core");
  flags.Add("only", only, "Only operators whose name and shape contain this", "TEXT");
  AddOutputFlags(flags, output);
  QUIRE_ASSIGN_OR_RETURN(const bool go_on, flags.Parse(args));
  if (!go_on) return {};
  if (!flags.positionals().empty()) {
    return InvalidArgument(StrCat("one argument too many: ", Printable(flags.positionals()[0])));
  }
  QUIRE_ASSIGN_OR_RETURN(const kernels::CpuIsa isa, IsaOfEnvironment());
  BenchContext bench(isa, threads);
  const MachineLimits limits = MeasureLimits(bench.table, bench.pool);
  QUIRE_ASSIGN_OR_RETURN(const std::vector<KernelTime> times, TimeAll(bench.ctx, limits, only));
  if (times.empty())
    return InvalidArgument(StrCat("--only: no operator is called ", Printable(only)));
  JsonArray rows;
  std::string text =
      StrCat(limits.num_threads, " threads, ", limits.isa, "\n", Padded("operator", 16),
             Padded("shape", 14), "rows         us    GB/s    GOP/s  share\n");
  for (const KernelTime& time : times) {
    rows.push_back(ToJson(time, limits));
    text += Row(time, limits);
  }
  const Json result = JsonObject{{"machine", ToJson(limits)}, {"kernels", Json(std::move(rows))}};
  return WriteBenchResult(output, text, result);
}

}  // namespace quire
