// What every operator is handed: the kernels of this CPU, the threads, and scratch memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/table.h"
#include "platform/thread_pool.h"
#include "tensor/tensor.h"

namespace quire::ops {

// How many parts of `size` hold `count`, which is not negative.
constexpr std::int64_t CeilDiv(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

// Memory that one operator uses and the next one reuses. Grows to the largest wish so far, so a
// warm step allocates nothing.
class Scratch {
 public:
  // At least `num_bytes`, aligned to 64; what an earlier call gave is lost.
  std::byte* Get(std::size_t num_bytes);

 private:
  Buffer buffer_;
};

// Borrowed by every operator of one worker; calls come from one thread at a time, which is a
// member of `pool`.
struct OpContext {
  const kernels::CpuTable* table;
  ThreadPool* pool;
  Scratch* scratch;
};

// The name of the kernels' ISA.
inline std::string_view IsaName(const OpContext& ctx) { return kernels::ToString(ctx.table->isa); }

}  // namespace quire::ops
