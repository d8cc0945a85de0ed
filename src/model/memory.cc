#include "model/memory.h"

#include <algorithm>
#include <limits>

namespace quire {
namespace {

// A table that says only how positions turn is no parameter.
bool IsParameter(const TensorInfo& tensor) {
  return tensor.name != "rope_freqs.weight" && !tensor.name.ends_with(".rotary_emb.inv_freq");
}

std::int64_t ValuesOf(const TensorInfo& tensor) {
  std::int64_t values = 1;
  for (const std::int64_t dim : tensor.shape) values *= dim;
  return values;
}

KvGroupSpec& GroupOf(std::int64_t window, KvCacheSpec& spec) {
  const AttentionKind kind = window == 0 ? AttentionKind::kFull : AttentionKind::kSlidingWindow;
  for (KvGroupSpec& group : spec.groups) {
    if (group.kind == kind && group.window == window) return group;
  }
  spec.groups.push_back({kind, static_cast<std::int32_t>(window), {}});
  return spec.groups.back();
}

}  // namespace

WeightSizes MeasureWeights(const Checkpoint& checkpoint) {
  WeightSizes sizes;
  for (const TensorInfo& tensor : checkpoint.tensors()) {
    auto found = std::find_if(sizes.by_type.begin(), sizes.by_type.end(),
                              [&](const WeightsOfType& of) { return of.type == tensor.type; });
    if (found == sizes.by_type.end()) {
      found = sizes.by_type.insert(found, WeightsOfType{tensor.type});
    }
    const std::int64_t num_values = ValuesOf(tensor);
    ++found->num_tensors;
    found->num_values += num_values;
    found->num_bytes += tensor.num_bytes;
    sizes.num_bytes += tensor.num_bytes;
    if (IsParameter(tensor)) sizes.num_parameters += num_values;
  }
  std::sort(
      sizes.by_type.begin(), sizes.by_type.end(),
      [](const WeightsOfType& a, const WeightsOfType& b) { return a.num_bytes > b.num_bytes; });
  return sizes;
}

KvCacheSpec KvSpecOf(const ModelConfig& config) {
  KvCacheSpec spec;
  spec.num_kv_heads = static_cast<std::int32_t>(config.num_kv_heads);
  spec.key_head_dim = static_cast<std::int32_t>(config.head_dim);
  spec.value_head_dim = static_cast<std::int32_t>(config.head_dim);
  for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
    GroupOf(WindowOf(config, layer), spec).layers.push_back(static_cast<std::int32_t>(layer));
  }
  return spec;
}

std::int64_t KvBytes(const KvCacheSpec& spec, const KvLayout& layout, std::int64_t num_tokens) {
  const auto blocks_of = [&](std::int64_t tokens) {
    return (tokens + layout.block_size - 1) / layout.block_size;
  };
  std::int64_t num_blocks = 0;
  for (const KvGroupSpec& group : spec.groups) {
    std::int64_t blocks = blocks_of(num_tokens);
    if (group.kind == AttentionKind::kSlidingWindow) {
      // A window that does not start with a block touches one more.
      blocks = std::min(blocks, blocks_of(group.window - 1) + 1);
    }
    num_blocks += blocks;
  }
  std::int64_t num_bytes = 0;
  const std::int64_t block_bytes = spec.block_bytes(layout.block_size, layout.element);
  if (__builtin_mul_overflow(num_blocks, block_bytes, &num_bytes)) {
    return std::numeric_limits<std::int64_t>::max();
  }
  return num_bytes;
}

std::int64_t KvBytesPerToken(const KvCacheSpec& spec, const KvElement& element) {
  return static_cast<std::int64_t>(spec.groups.size()) * spec.block_bytes(1, element);
}

}  // namespace quire
