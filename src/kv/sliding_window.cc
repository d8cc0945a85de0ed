#include "kv/sliding_window.h"

#include <algorithm>
#include <optional>

#include "kv/block_table.h"

namespace quire {

std::int32_t SlidingWindow::NumUnseenBlocks(std::int64_t num_computed,
                                            std::int32_t block_size) const {
  const std::int64_t num_unseen = std::max<std::int64_t>(0, num_computed - window_ + 1);
  return static_cast<std::int32_t>(num_unseen / block_size);
}

std::int32_t SlidingWindow::MaxBlocks(std::int64_t num_tokens, std::int64_t max_step_tokens,
                                      std::int32_t block_size) const {
  // A run of tokens that starts inside a block touches one more than its length says.
  const std::int64_t num_seen = window_ - 1 + max_step_tokens;
  return std::min(BlocksFor(num_tokens, block_size), BlocksFor(num_seen, block_size) + 1);
}

std::int32_t SlidingWindow::FindPrefix(const BlockPool& pool, std::span<const BlockHash> hashes,
                                       std::int32_t group, std::int32_t block_size,
                                       std::vector<BlockId>& found) const {
  const auto num_hashes = static_cast<std::int32_t>(hashes.size());
  const std::int32_t num_needed = BlocksFor(window_ - 1, block_size);
  found.assign(hashes.size(), kNullBlock);
  // From the end to the start: the first run of `num_needed` cached blocks ends the longest hit.
  std::int32_t run = 0;
  std::int32_t end = num_hashes;
  for (std::int32_t idx = num_hashes - 1; idx >= 0 && run < num_needed; --idx) {
    const auto at = static_cast<std::size_t>(idx);
    const std::optional<BlockId> id = pool.Find(hashes[at], group);
    if (!id) {
      run = 0;
      end = idx;
      continue;
    }
    found[at] = *id;
    ++run;
  }
  found.resize(static_cast<std::size_t>(end));
  return end;
}

}  // namespace quire
