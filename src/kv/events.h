// What the prefix cache tells a subscriber, so that it can keep a map of what is cached.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/id.h"
#include "kv/block_hash.h"

namespace quire {

// Blocks that can be found from now on: each one the child of the one before it.
struct KvBlocksStored {
  std::span<const BlockHash> hashes;
  std::optional<BlockHash> parent;  // of the first; nullopt: it starts a prompt
  std::span<const TokenId> tokens;  // block_size of them a hash
  std::int32_t block_size = 0;
  std::int32_t group = 0;
};

// Hears what happens to the prefix cache, on the engine thread, in order. Spans last for the call.
// A content that two blocks hold is stored once and removed once.
class KvEventSink {
 public:
  virtual ~KvEventSink() = default;
  virtual void OnStored(const KvBlocksStored& stored) = 0;
  virtual void OnRemoved(const BlockHash& hash, std::int32_t group) = 0;
  virtual void OnCleared() = 0;
};

}  // namespace quire
