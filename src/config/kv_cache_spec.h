// What the KV cache must hold for a model: which layers keep what, in which groups.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quire {

enum class AttentionKind { kFull, kSlidingWindow };

// Layers whose blocks are managed together, under one block table a request.
struct KvGroupSpec {
  AttentionKind kind = AttentionKind::kFull;
  std::int32_t window = 0;           // positions a token sees, itself included; kSlidingWindow only
  std::vector<std::int32_t> layers;  // model layer indices
};

// How a vector, the key or the value of one token and head, is stored.
struct KvElement {
  std::int32_t value_bytes = 4;
  std::int32_t scale_bytes = 0;  // of the vector's own scale
};

// All groups share one pool of block ids. Layer i of a group lies in the pool's i-th buffer, so a
// block's bytes are those of as many layers as the largest group has.
struct KvCacheSpec {
  std::vector<KvGroupSpec> groups;
  std::int32_t num_kv_heads = 0;
  std::int32_t key_head_dim = 0;
  std::int32_t value_head_dim = 0;

  std::int32_t num_buffers() const {
    std::size_t most = 0;
    for (const KvGroupSpec& group : groups) {
      if (group.layers.size() > most) most = group.layers.size();
    }
    return static_cast<std::int32_t>(most);
  }
  // Bytes that one token takes in one layer.
  std::int64_t layer_bytes(const KvElement& element) const {
    const std::int64_t values = std::int64_t{key_head_dim} + value_head_dim;
    return num_kv_heads * (values * element.value_bytes + 2 * element.scale_bytes);
  }
  // Bytes of one block.
  std::int64_t block_bytes(std::int32_t block_size, const KvElement& element) const {
    return std::int64_t{num_buffers()} * block_size * layer_bytes(element);
  }
};

}  // namespace quire
