#include "runner/paged_kv_cache.h"

#include <algorithm>
#include <utility>

namespace quire {
namespace {

std::size_t NumLayers(const KvCacheSpec& spec) {
  std::size_t count = 0;
  for (const KvGroupSpec& group : spec.groups) {
    for (const std::int32_t layer : group.layers)
      count = std::max(count, static_cast<std::size_t>(layer) + 1);
  }
  return count;
}

}  // namespace

DType KvCacheElementType(const EngineConfig& config, const kernels::CpuTable& table) {
  switch (config.cache.kv_cache_dtype) {
    case KvCacheDtype::kFloat32:
      return DType::kF32;
    case KvCacheDtype::kFloat16:
      return DType::kF16;
    case KvCacheDtype::kBFloat16:
      return DType::kBF16;
    case KvCacheDtype::kInt8PerTokenHead:
      return DType::kI8;
    case KvCacheDtype::kAuto:
      break;
  }
  const bool is_float32 = config.model.effective_compute_dtype() == ComputeDtype::kFloat32;
  if (is_float32) return DType::kF32;
  return table.attend_pairs != nullptr ? DType::kBF16 : DType::kF16;
}

KvElement KvElementOf(DType dtype) {
  return {.value_bytes = LayoutOf(dtype).block_bytes,
          .scale_bytes = dtype == DType::kI8 ? kernels::kKvScaleBytes : 0};
}

Result<PagedKvCache> PagedKvCache::Allocate(const KvCacheSpec& spec, std::int64_t num_blocks,
                                            std::int32_t block_size, DType dtype) {
  const Shape key_shape = {num_blocks, spec.num_kv_heads, block_size, spec.key_head_dim};
  const Shape value_shape = {num_blocks, spec.num_kv_heads, block_size, spec.value_head_dim};
  PagedKvCache pages;
  pages.num_blocks_ = num_blocks;
  for (std::int32_t i = 0; i < spec.num_buffers(); ++i) {
    QUIRE_ASSIGN_OR_RETURN(Buffer keys, Buffer::Allocate(ops::KvPageBytes(dtype, key_shape)));
    QUIRE_ASSIGN_OR_RETURN(Buffer values, Buffer::Allocate(ops::KvPageBytes(dtype, value_shape)));
    pages.keys_.push_back(std::move(keys));
    pages.values_.push_back(std::move(values));
  }
  pages.layers_.resize(NumLayers(spec));
  for (const KvGroupSpec& group : spec.groups) {
    for (std::size_t i = 0; i < group.layers.size(); ++i) {
      ops::KvPages& layer = pages.layers_[static_cast<std::size_t>(group.layers[i])];
      layer.k = TensorView(pages.keys_[i].data(), dtype, key_shape);
      layer.v = TensorView(pages.values_[i].data(), dtype, value_shape);
    }
  }
  return pages;
}

}  // namespace quire
