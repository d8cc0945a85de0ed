// The memory of the paged KV cache, and each layer's view of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "config/engine_config.h"
#include "config/kv_cache_spec.h"
#include "ops/attention.h"
#include "platform/thread_pool.h"
#include "tensor/tensor.h"

namespace quire {

// The element type that `config` asks for. Auto is float32 where float32 is computed, bfloat16
// where these kernels multiply pairs of it, else float16: their rounding of keys and values is far
// below that of quantized activations.
DType KvCacheElementType(const EngineConfig& config, const kernels::CpuTable& table);

// What a vector of that type takes.
KvElement KvElementOf(DType dtype);

// Owns the pages of all layers. What one block has of all layers lies together, so that memory is
// taken by blocks that are used and no others:
//   block 0: layer 0's keys, its values, layer 1's keys, … | block 1: …
// Layers of different KV groups share places: layer i of each group has the i-th.
class PagedKvCache {
 public:
  static Result<PagedKvCache> Allocate(const KvCacheSpec& spec, std::int64_t num_blocks,
                                       std::int32_t block_size, DType dtype);
  PagedKvCache() = default;

  // Has the system hand out the memory of all blocks now, by all threads of the pool; until the
  // first block is written.
  void Prefault(ThreadPool& pool);

  // One entry a model layer; layers without attention have empty views.
  std::span<const ops::KvPages> layers() const { return layers_; }
  std::int64_t num_blocks() const { return num_blocks_; }

 private:
  Buffer memory_;
  std::vector<ops::KvPages> layers_;
  std::int64_t num_blocks_ = 0;
};

}  // namespace quire
