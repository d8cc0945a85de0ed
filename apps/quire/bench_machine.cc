#include "apps/quire/bench_machine.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "apps/quire/bench.h"
#include "apps/quire/flags.h"
#include "base/strings.h"

namespace quire {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMemoryBytes = std::size_t{256} << 20;  // of each thread
constexpr std::size_t kCacheBytes = std::size_t{1} << 20;
constexpr int kTries = 5;

// The best of several tries of `work`, which does `amount` of something on all threads at once.
template <typename F>
double BestRate(ThreadPool& pool, int tries, double amount, const F& work) {
  double best = 0.0;
  for (int i = 0; i < tries; ++i) {
    const auto start = Clock::now();
    pool.Run([&](int thread_idx, int) { work(thread_idx); });
    best = std::max(best, amount / std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

// Reads all of it `times` times.
std::uint64_t ReadAll(const Buffer& buffer, int times) {
  const auto* words = reinterpret_cast<const std::uint64_t*>(buffer.data());
  const std::size_t count = buffer.size() / sizeof(std::uint64_t);
  constexpr std::size_t kLanes = 16;
  std::uint64_t lanes[kLanes] = {};
  for (int t = 0; t < times; ++t) {
    for (std::size_t i = 0; i + kLanes <= count; i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] ^= words[i + lane];
    }
  }
  std::uint64_t all = 0;
  for (const std::uint64_t lane : lanes) all ^= lane;
  return all;
}

std::vector<Buffer> BuffersOf(ThreadPool& pool, std::size_t bytes) {
  std::vector<Buffer> buffers(static_cast<std::size_t>(pool.num_threads()));
  pool.Run([&](int thread_idx, int) {
    Result<Buffer> buffer = Buffer::Allocate(bytes);
    if (!buffer.ok()) return;
    std::fill_n(buffer->f32(), bytes / sizeof(float), 1.0F);
    buffers[static_cast<std::size_t>(thread_idx)] = *std::move(buffer);
  });
  return buffers;
}

// Bytes a second; each thread reads its own buffer `times` times.
double ReadRate(ThreadPool& pool, const std::vector<Buffer>& buffers, int times, int tries) {
  std::vector<std::uint64_t> sums(buffers.size() * 8);  // a cache line each
  double total = 0.0;
  for (const Buffer& buffer : buffers) total += static_cast<double>(buffer.size()) * times;
  return BestRate(pool, tries, total, [&](int thread_idx) {
    const auto i = static_cast<std::size_t>(thread_idx);
    sums[i * 8] ^= ReadAll(buffers[i], times);
  });
}

double PeakRate(ThreadPool& pool, const kernels::PeakKernel& peak) {
  if (peak.run == nullptr) return 0.0;
  constexpr std::int64_t kOps = 2'000'000'000;
  const std::int64_t rounds = kOps / peak.ops_per_round;
  return BestRate(pool, kTries,
                  static_cast<double>(rounds * peak.ops_per_round) * pool.num_threads(),
                  [&](int) { peak.run(rounds); });
}

}  // namespace

double MachineLimits::four_bit_ops_per_s() const {
  return std::max(int8_ops_per_s, int8_short_ops_per_s);
}

MachineLimits MeasureLimits(const kernels::CpuTable& table, ThreadPool& pool) {
  const auto peak = [&](kernels::PeakKind kind) {
    return PeakRate(pool, table.peak[static_cast<int>(kind)]);
  };
  return {.num_threads = pool.num_threads(),
          .isa = std::string(kernels::ToString(table.isa)),
          .memory_bytes_per_s = ReadRate(pool, BuffersOf(pool, kMemoryBytes), 1, kTries),
          .cache_bytes_per_s = ReadRate(pool, BuffersOf(pool, kCacheBytes), 256, kTries),
          .f32_ops_per_s = peak(kernels::PeakKind::kF32),
          .int8_ops_per_s = peak(kernels::PeakKind::kInt8),
          .int8_short_ops_per_s = peak(kernels::PeakKind::kInt8Short)};
}

Json ToJson(const MachineLimits& limits) {
  JsonObject object = {{"threads", Json(limits.num_threads)},
                       {"isa", Json(limits.isa)},
                       {"memory_gb_per_s", Json(limits.memory_bytes_per_s / 1e9)},
                       {"cache_gb_per_s", Json(limits.cache_bytes_per_s / 1e9)},
                       {"f32_gop_per_s", Json(limits.f32_ops_per_s / 1e9)}};
  if (limits.int8_ops_per_s > 0.0) {
    object.emplace_back("int8_gop_per_s", Json(limits.int8_ops_per_s / 1e9));
  }
  if (limits.int8_short_ops_per_s > 0.0) {
    object.emplace_back("int8_s16_gop_per_s", Json(limits.int8_short_ops_per_s / 1e9));
  }
  return object;
}

MemoryMeter::MemoryMeter(const ThreadPoolOptions& threads)
    : pool_(threads), buffers_(BuffersOf(pool_, kMemoryBytes)) {}

double MemoryMeter::Read() { return ReadRate(pool_, buffers_, 1, 2); }

BenchContext::BenchContext(kernels::CpuIsa isa, int num_threads)
    : table(kernels::MakeTable(isa)), pool({.num_threads = num_threads, .pin = true}) {}

Result<kernels::CpuIsa> IsaOfEnvironment() {
  const char* wish = std::getenv("QUIRE_CPU_ISA");  // NOLINT(concurrency-mt-unsafe)
  return wish == nullptr ? kernels::ChooseIsa() : kernels::ChooseIsa(wish);
}

Status RunBenchMachine(Args args) {
  BenchOutput output;
  int threads = 0;
  FlagSet flags("bench machine [flags]",
                "Measures what this machine can do at most: memory, cache, arithmetic. The other "
                "measurements are to be held against these of the same run.");
  flags.Add("threads", threads, "Threads; 0: one a physical core");
  AddOutputFlags(flags, output);
  QUIRE_ASSIGN_OR_RETURN(const bool go_on, flags.Parse(args));
  if (!go_on) return {};
  if (!flags.positionals().empty()) {
    return InvalidArgument(StrCat("one argument too many: ", Printable(flags.positionals()[0])));
  }
  QUIRE_ASSIGN_OR_RETURN(const kernels::CpuIsa isa, IsaOfEnvironment());
  BenchContext bench(isa, threads);
  const MachineLimits limits = MeasureLimits(bench.table, bench.pool);
  const auto line = [](const char* name, double per_s, const char* unit) {
    return per_s > 0.0 ? StrCat(name, Fixed(per_s / 1e9, 1), " ", unit, "\n") : std::string();
  };
  const std::string text =
      StrCat(limits.num_threads, " threads, ", limits.isa, "\n",
             line("memory read                ", limits.memory_bytes_per_s, "GB/s"),
             line("cache read                 ", limits.cache_bytes_per_s, "GB/s"),
             line("f32 multiply-add           ", limits.f32_ops_per_s, "GFLOP/s"),
             line("int8 products, 32-bit sums ", limits.int8_ops_per_s, "GOP/s"),
             line("int8 products, 16-bit sums ", limits.int8_short_ops_per_s, "GOP/s"));
  return WriteBenchResult(output, text, ToJson(limits));
}

}  // namespace quire
