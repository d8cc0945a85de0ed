// What this machine can do at most, measured in the run that wants to compare itself with it.
#pragma once

#include <string>
#include <vector>

#include "formats/json.h"
#include "ops/context.h"
#include "tensor/tensor.h"

namespace quire {

// Rates with all threads of the pool, best of several tries.
struct MachineLimits {
  int num_threads = 0;
  std::string isa;
  double memory_bytes_per_s = 0.0;  // reading more than the caches hold
  double cache_bytes_per_s = 0.0;   // reading a megabyte a thread, again and again
  double f32_ops_per_s = 0.0;
  double int8_ops_per_s = 0.0;        // 0: the ISA has no arithmetic of its own for it
  double int8_short_ops_per_s = 0.0;  // 4-bit by 8-bit, summed in 16 bits; 0: likewise

  // The best for weights of four bits, and of eight.
  double four_bit_ops_per_s() const;
};

// Takes about a second.
MachineLimits MeasureLimits(const kernels::CpuTable& table, ThreadPool& pool);

Json ToJson(const MachineLimits& limits);

// Measures again and again how fast memory is read: it changes from second to second where a
// machine is shared, so what is to be compared with it must be measured between two such readings.
class MemoryMeter {
 public:
  explicit MemoryMeter(const ThreadPoolOptions& threads);
  // Bytes a second with all threads.
  double Read();

 private:
  ThreadPool pool_;
  std::vector<Buffer> buffers_;  // one a thread
};

// The kernels and threads that `--threads` and QUIRE_CPU_ISA ask for.
struct BenchContext {
  explicit BenchContext(kernels::CpuIsa isa, int num_threads);
  kernels::CpuTable table;
  ThreadPool pool;
  ops::Scratch scratch;
  ops::OpContext ctx = {&table, &pool, &scratch};
};
Result<kernels::CpuIsa> IsaOfEnvironment();

}  // namespace quire
