// The blocks that one request holds.
#pragma once

#include <cstdint>
#include <vector>

#include "base/id.h"
#include "kv/block_hash.h"
#include "kv/prefix_hash.h"

namespace quire {

// One request's blocks in one KV group, in the order of its tokens. Block i holds the positions
// from i * block_size on; the null block stands where nothing is held any more.
struct BlockTable {
  std::vector<BlockId> ids;
  std::int32_t num_released = 0;  // leading blocks that fell out of the window
  std::int32_t num_offered = 0;   // leading blocks given to the prefix cache
};

// What the KV cache knows of one request. Owned by whoever owns the request; changed by
// KvCacheManager alone, which must have freed it before it goes.
struct RequestBlocks {
  std::vector<BlockTable> tables;  // one a group
  std::vector<BlockHash> hashes;   // of the full blocks of its tokens, as far as they are hashed
  ExtraKeys extra_keys;            // of the first block
  bool is_in_family = false;       // shares blocks also where the prefix cache is off
};

// The blocks that a request refers to, over all groups.
inline std::int64_t NumHeld(const RequestBlocks& request) {
  std::int64_t num_held = 0;
  for (const BlockTable& table : request.tables) {
    num_held += static_cast<std::int64_t>(table.ids.size()) - table.num_released;
  }
  return num_held;
}

// How many blocks `num_tokens` tokens fill, the last one perhaps in part.
constexpr std::int32_t BlocksFor(std::int64_t num_tokens, std::int32_t block_size) {
  return static_cast<std::int32_t>((num_tokens + block_size - 1) / block_size);
}

}  // namespace quire
