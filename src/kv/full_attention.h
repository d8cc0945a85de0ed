// Blocks of layers whose tokens see everything before them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/id.h"
#include "kv/block_hash.h"
#include "kv/block_pool.h"

namespace quire {

// Holds every block of a request from its first token to its last.
class FullAttention {
 public:
  // How many leading blocks no later token sees once `num_computed` tokens are in the cache.
  std::int32_t NumUnseenBlocks(std::int64_t num_computed, std::int32_t block_size) const;

  // The most blocks a request of `num_tokens` tokens holds at once, when a step computes at most
  // `max_step_tokens` of them.
  std::int32_t MaxBlocks(std::int64_t num_tokens, std::int64_t max_step_tokens,
                         std::int32_t block_size) const;

  // The longest run of cached blocks from the first of `hashes` on; fills `found` with them.
  std::int32_t FindPrefix(const BlockPool& pool, std::span<const BlockHash> hashes,
                          std::int32_t group, std::vector<BlockId>& found) const;
};

}  // namespace quire
