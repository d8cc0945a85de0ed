// Products per weight type, shape and rows, attention, and beside them what the machine can do at
// most: memory read, and the arithmetic of the kernels' own inner loop on data in the first cache.
#include <benchmark/benchmark.h>

#include "ops/attention.h"
#include "ops/linear.h"
#include "ops/testing.h"

namespace quire {
namespace {

struct MatmulShape {
  DType type;
  std::int64_t outputs;
  std::int64_t depth;
};

// SmolLM2-135M, then Llama 3.2 1B and 3.1 8B.
constexpr MatmulShape kShapes[] = {
    {DType::kQ4_1, 576, 576},     {DType::kQ4_1, 1536, 576},  {DType::kQ4_1, 576, 1536},
    {DType::kQ8_0, 49152, 576},   {DType::kQ4_0, 2048, 2048}, {DType::kQ4_0, 8192, 2048},
    {DType::kQ4_K, 8192, 2048},   {DType::kQ8_0, 8192, 2048}, {DType::kQ5_K, 4096, 4096},
    {DType::kQ6_K, 4096, 4096},   {DType::kQ3_K, 4096, 4096}, {DType::kQ2_K, 4096, 4096},
    {DType::kIQ4_XS, 4096, 4096}, {DType::kBF16, 2048, 2048}, {DType::kF32, 576, 1536}};

// Enough copies of a matrix that they do not stay in the cache from call to call.
constexpr std::size_t kWorkingSet = std::size_t{64} << 20;

void Matmul(benchmark::State& state, MatmulShape shape) {
  ops::TestContext test(0);
  const std::int64_t rows = state.range(0);
  const std::int64_t values = shape.outputs * shape.depth;
  const auto bytes =
      kernels::RandomBlocks(shape.type, values / LayoutOf(shape.type).block_values, 1);
  const ConstTensorView source = {bytes.data(), shape.type, {shape.outputs, shape.depth}};
  constexpr auto kPrecision = ops::MatmulPrecision::kFast;
  const std::size_t packed =
      (ops::LinearWeight::PackedBytes(test.ctx, source, kPrecision) + 63) / 64 * 64;
  const std::size_t copies = state.max_iterations <= 1 ? 1 : kWorkingSet / bytes.size() + 1;
  const auto memory = std::make_shared<Buffer>(*Buffer::Allocate(packed * copies));
  std::vector<ops::LinearWeight> weights;
  for (std::size_t i = 0; i < copies; ++i) {
    const ops::PackedPlace place = {{memory, memory->data() + i * packed}, false};
    weights.push_back(*ops::LinearWeight::Create(test.ctx, source, kPrecision, place));
  }
  const auto x = kernels::RandomFloats(rows * shape.depth, 2);
  std::vector<float> out(static_cast<std::size_t>(rows * shape.outputs));
  std::size_t next = 0;
  for (auto _ : state) {
    const ops::LinearJob job = {&weights[next++ % weights.size()],
                                F32View(out.data(), {rows, shape.outputs})};
    ops::Linear(test.ctx, F32View(x.data(), {rows, shape.depth}), {&job, 1});
  }
  using benchmark::Counter;
  const auto calls = static_cast<double>(state.iterations());
  state.counters["B/s"] =
      Counter(calls * static_cast<double>(weights[0].num_bytes()), Counter::kIsRate);
  state.counters["OP/s"] =
      Counter(calls * 2.0 * static_cast<double>(values * rows), Counter::kIsRate);
}

// One request of `rows` last positions of a context, heads as in SmolLM2-135M.
void Attention(benchmark::State& state, DType type) {
  ops::TestContext test(0);
  const auto rows = static_cast<std::int32_t>(state.range(0));
  const auto context = static_cast<std::int32_t>(state.range(1));
  constexpr std::int64_t kHeads = 9, kKvHeads = 3, kHeadDim = 64, kBlockSize = 16;
  const std::int64_t blocks = (context + kBlockSize - 1) / kBlockSize;
  const Shape shape = {blocks, kKvHeads, kBlockSize, kHeadDim};
  const std::size_t bytes = ops::KvPageBytes(type, shape);
  const std::size_t layers = state.max_iterations <= 1 ? 1 : kWorkingSet / bytes / 2 + 1;
  std::vector<Buffer> buffers;
  std::vector<ops::KvPages> pages;
  for (std::size_t i = 0; i < layers; ++i) {
    Buffer k = *Buffer::Allocate(bytes);
    Buffer v = *Buffer::Allocate(bytes);
    std::fill_n(k.data(), bytes, std::byte{1});
    std::fill_n(v.data(), bytes, std::byte{1});
    pages.push_back({{k.data(), type, shape}, {v.data(), type, shape}});
    buffers.push_back(std::move(k));
    buffers.push_back(std::move(v));
  }
  std::vector<std::int32_t> table;
  for (std::int64_t b = 0; b < blocks; ++b) {
    // Blocks lie anywhere, as in a cache that has been in use. 7919 is prime.
    table.push_back(static_cast<std::int32_t>(b * 7919 % blocks));
  }
  const std::vector<std::int32_t> q_start = {0, rows};
  const std::vector<std::int32_t> lens = {context};
  const auto q = kernels::RandomFloats(rows * kHeads * kHeadDim, 1);
  std::vector<float> out(q.size());
  const ops::AttentionBatch batch = {.q_start = q_start,
                                     .context_lens = lens,
                                     .block_table = table,
                                     .max_blocks = static_cast<std::int32_t>(blocks),
                                     .slots = {}};
  const Shape rows_shape = {rows, kHeads, kHeadDim};
  std::size_t next = 0;
  for (auto _ : state) {
    ops::PagedAttention(test.ctx, F32View(q.data(), rows_shape), pages[next++ % layers], batch,
                        {.scale = 0.125F}, F32View(out.data(), rows_shape));
  }
  using benchmark::Counter;
  const auto calls = static_cast<double>(state.iterations());
  const double seen = rows * (context - (rows - 1) / 2.0);
  state.counters["B/s"] = Counter(calls * static_cast<double>(bytes * 2), Counter::kIsRate);
  state.counters["OP/s"] = Counter(calls * 4.0 * seen * kHeads * kHeadDim, Counter::kIsRate);
}

// Reads memory well beyond the caches on all threads.
void MemoryRead(benchmark::State& state) {
  ThreadPool pool({});
  const std::size_t size =
      state.max_iterations <= 1 ? std::size_t{1} << 20 : std::size_t{256} << 20;
  Buffer buffer = *Buffer::Allocate(size);
  std::fill_n(buffer.f32(), size / 4, 1.0F);
  const auto words = static_cast<std::int64_t>(size / 8);
  const auto* data = reinterpret_cast<const std::uint64_t*>(buffer.data());
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(pool.num_threads()) * 8);
  for (auto _ : state) {
    pool.Run([&](int thread_idx, int num_threads) {
      const Range range = ShareOf(words, thread_idx, num_threads, 8);
      std::uint64_t lanes[8] = {};
      for (std::int64_t i = range.begin; i < range.end; i += 8) {
        for (int l = 0; l < 8; ++l) lanes[l] ^= data[i + l];
      }
      for (int l = 0; l < 8; ++l) sums[static_cast<std::size_t>(thread_idx * 8 + l)] += lanes[l];
    });
    benchmark::DoNotOptimize(sums.data());
  }
  state.counters["B/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(size),
                         benchmark::Counter::kIsRate);
}

// A matrix that stays in each thread's second cache times many rows: what the int8 product reaches
// when neither memory nor threads stand in its way.
void Int8Peak(benchmark::State& state, DType type) { Matmul(state, {type, 256, 1024}); }

void Register() {
  benchmark::RegisterBenchmark("MemoryRead", MemoryRead)->UseRealTime();
  benchmark::RegisterBenchmark("Int8Peak/Q4_0",
                               [](benchmark::State& s) { Int8Peak(s, DType::kQ4_0); })
      ->Arg(512)
      ->UseRealTime();
  for (const MatmulShape& shape : kShapes) {
    const std::string name =
        StrCat("Matmul/", ToString(shape.type), "/", shape.outputs, "x", shape.depth);
    benchmark::RegisterBenchmark(name.c_str(), [shape](benchmark::State& s) { Matmul(s, shape); })
        ->ArgName("rows")
        ->Arg(1)
        ->Arg(4)
        ->Arg(16)
        ->Arg(64)
        ->Arg(512)
        ->UseRealTime();
  }
  for (const DType type : {DType::kF16, DType::kBF16, DType::kI8}) {
    const std::string name = StrCat("Attention/", ToString(type));
    benchmark::RegisterBenchmark(name.c_str(), [type](benchmark::State& s) { Attention(s, type); })
        ->ArgNames({"rows", "context"})
        ->ArgsProduct({{1}, {128, 4096}})
        ->Args({512, 512})
        ->UseRealTime();
  }
}

}  // namespace
}  // namespace quire

int main(int argc, char** argv) {
  quire::Register();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
