#include "kv/full_attention.h"

#include <optional>

#include "kv/block_table.h"

namespace quire {

std::int32_t FullAttention::NumUnseenBlocks(std::int64_t /*num_computed*/,
                                            std::int32_t /*block_size*/) const {
  return 0;
}

std::int32_t FullAttention::MaxBlocks(std::int64_t num_tokens, std::int64_t /*max_step_tokens*/,
                                      std::int32_t block_size) const {
  return BlocksFor(num_tokens, block_size);
}

std::int32_t FullAttention::FindPrefix(const BlockPool& pool, std::span<const BlockHash> hashes,
                                       std::int32_t group, std::vector<BlockId>& found) const {
  found.clear();
  for (const BlockHash& hash : hashes) {
    const std::optional<BlockId> id = pool.Find(hash, group);
    if (!id) break;
    found.push_back(*id);
  }
  return static_cast<std::int32_t>(found.size());
}

}  // namespace quire
