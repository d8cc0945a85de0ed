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
  // Bytes of one block with `element_bytes` a value.
  std::int64_t block_bytes(std::int32_t block_size, std::int32_t element_bytes) const {
    return std::int64_t{num_buffers()} * block_size * num_kv_heads *
           (key_head_dim + value_head_dim) * element_bytes;
  }
};

}  // namespace quire
