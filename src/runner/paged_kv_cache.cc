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

// What neighbouring blocks have of one layer would meet in the same sets of the first cache, where
// addresses repeat every 4096 bytes: half of that more lets them take turns.
std::size_t SpreadOut(std::size_t block_bytes) {
  constexpr std::size_t kPeriod = 4096;
  constexpr std::size_t kWorthWhile = 64 * kPeriod;  // where it adds less than a hundredth
  const bool meets = block_bytes % kPeriod == 0 && block_bytes >= kWorthWhile;
  return meets ? block_bytes + kPeriod / 2 : block_bytes;
}

// Of one block of one layer.
std::size_t PageBytes(DType dtype, Shape shape) {
  return ops::KvPageBytes(dtype, {1, shape[1], shape[2], shape[3]});
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
  const std::size_t key_bytes = PageBytes(dtype, key_shape);
  const std::size_t layer_bytes = key_bytes + PageBytes(dtype, value_shape);
  const std::size_t block_bytes =
      SpreadOut(layer_bytes * static_cast<std::size_t>(spec.num_buffers()));
  PagedKvCache pages;
  pages.num_blocks_ = num_blocks;
  QUIRE_ASSIGN_OR_RETURN(pages.memory_,
                         Buffer::Allocate(block_bytes * static_cast<std::size_t>(num_blocks)));
  pages.layers_.resize(NumLayers(spec));
  for (const KvGroupSpec& group : spec.groups) {
    for (std::size_t i = 0; i < group.layers.size(); ++i) {
      ops::KvPages& layer = pages.layers_[static_cast<std::size_t>(group.layers[i])];
      std::byte* first = pages.memory_.data() + i * layer_bytes;
      layer.k = TensorView(first, dtype, key_shape);
      layer.v = TensorView(first + key_bytes, dtype, value_shape);
      layer.block_bytes = static_cast<std::int64_t>(block_bytes);
    }
  }
  return pages;
}

void PagedKvCache::Prefault(ThreadPool& pool) {
  constexpr std::int64_t kSystemPage = 4096;
  constexpr std::int64_t kPiece = std::int64_t{2} << 20;  // one huge page
  const auto size = static_cast<std::int64_t>(memory_.size());
  pool.ForEach(ops::CeilDiv(size, kPiece), [&](std::int64_t piece, int) {
    const std::int64_t end = std::min((piece + 1) * kPiece, size);
    for (std::int64_t at = piece * kPiece; at < end; at += kSystemPage) {
      memory_.data()[at] = std::byte{0};
    }
  });
}

}  // namespace quire
