// How large a model is: its weights by type, its KV cache by length. Needs no loaded weights.
#pragma once

#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "config/kv_cache_spec.h"
#include "model/checkpoint.h"
#include "model/model_config.h"

namespace quire {

struct WeightsOfType {
  DType type;
  std::int64_t num_tensors = 0;
  std::int64_t num_values = 0;
  std::uint64_t num_bytes = 0;
};

struct WeightSizes {
  std::int64_t num_parameters = 0;     // a tied head counts once
  std::uint64_t num_bytes = 0;         // on disk
  std::vector<WeightsOfType> by_type;  // most bytes first
};
WeightSizes MeasureWeights(const Checkpoint& checkpoint);

// Which layers keep which positions: full-attention layers are one group, and so are the layers of
// each window.
KvCacheSpec KvSpecOf(const ModelConfig& config);

// Bytes of KV cache that one request of `num_tokens` tokens takes, in whole blocks; blocks that
// all of a group's windows have left are free again.
struct KvLayout {
  std::int32_t block_size;
  KvElement element;
};
std::int64_t KvBytes(const KvCacheSpec& spec, const KvLayout& layout, std::int64_t num_tokens);

// Bytes that one more token adds in the layers that keep every position, and in those with a
// window while it is not full.
std::int64_t KvBytesPerToken(const KvCacheSpec& spec, const KvElement& element);

}  // namespace quire
