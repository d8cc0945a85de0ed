// Blocks of layers whose tokens see only the last so many positions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/id.h"
#include "kv/block_hash.h"
#include "kv/block_pool.h"

namespace quire {

// Holds the blocks that the next token still sees; the ones before them are given back.
class SlidingWindow {
 public:
  // `window` >= 1: positions a token sees, itself included.
  explicit SlidingWindow(std::int32_t window) : window_(window) {}

  // The next token, at position `num_computed`, sees window - 1 positions before it.
  std::int32_t NumUnseenBlocks(std::int64_t num_computed, std::int32_t block_size) const;

  // As FullAttention::MaxBlocks.
  std::int32_t MaxBlocks(std::int64_t num_tokens, std::int64_t max_step_tokens,
                         std::int32_t block_size) const;

  // The longest prefix of `hashes` of which all blocks are cached that the token after it sees;
  // fills `found`, the null block in place of those it does not see.
  std::int32_t FindPrefix(const BlockPool& pool, std::span<const BlockHash> hashes,
                          std::int32_t group, std::int32_t block_size,
                          std::vector<BlockId>& found) const;

 private:
  std::int32_t window_;
};

}  // namespace quire
