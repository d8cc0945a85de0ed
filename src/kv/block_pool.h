// The KV cache's blocks as numbers: who holds them, which are free, which can be found by content.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/id.h"
#include "base/thread_checker.h"
#include "kv/block_hash.h"
#include "kv/events.h"

namespace quire {

inline constexpr BlockId kNullBlock{0};

// A fixed number of blocks with reference counts. Engine thread only; nothing here allocates after
// construction, and everything but ClearPrefixes is O(1).
//
// A free block keeps its content, and can be found by it, until it is handed out again. Blocks
// without a findable content are handed out first, then the least recently freed.
//
// Invariants:
//   1. Block 0 is the null block: never free, never handed out, never counted.
//   2. A block is in the free list if and only if nobody refers to it.
//   3. At most one block answers for a (hash, group).
class BlockPool {
 public:
  // `num_blocks` > 1, the null block included. `events` may be null and outlives the pool.
  BlockPool(std::int64_t num_blocks, KvEventSink* events);
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  std::int64_t num_total() const { return static_cast<std::int64_t>(blocks_.size()) - 1; }
  std::int64_t num_free() const { return num_free_; }
  std::int64_t num_used() const { return num_total() - num_free_; }

  // A free block with one reference, the caller's; its old content is forgotten. Only when
  // num_free() > 0.
  BlockId Acquire();

  // One more reference to a block, taken out of the free list if it was there.
  void AddRef(BlockId id);

  // One reference fewer; the last one frees the block.
  void Release(BlockId id);

  std::int32_t ref_count(BlockId id) const { return at(id).refs; }

  // Lets a block that the caller refers to answer for a content. When another block does so
  // already it goes on unless it is free, in which case it hands over to this one. Returns whether
  // the content could not be found before.
  bool Register(BlockId id, const BlockHash& hash, std::int32_t group);

  // The block stops answering for its content, if it did.
  void Forget(BlockId id);

  // The block that answers for a content; no reference is taken.
  std::optional<BlockId> Find(const BlockHash& hash, std::int32_t group) const;

  bool is_registered(BlockId id) const { return at(id).group >= 0; }

  // Forgets every content, of blocks in use as well. O(num_blocks).
  void ClearPrefixes();

  // Dies when an invariant is broken. O(num_blocks).
  void CheckInvariants() const;

 private:
  static constexpr std::int32_t kNone = -1;

  struct alignas(64) Block {
    BlockHash hash;
    std::int32_t group = kNone;  // of the hash; kNone: answers for nothing
    std::int32_t refs = 0;
    std::int32_t free_prev = kNone;  // neighbours in the free list
    std::int32_t free_next = kNone;
    std::int32_t bucket_prev = kNone;  // neighbours in the bucket of the hash
    std::int32_t bucket_next = kNone;
  };

  Block& at(BlockId id) { return blocks_[static_cast<std::size_t>(id.value())]; }
  const Block& at(BlockId id) const { return blocks_[static_cast<std::size_t>(id.value())]; }
  Block& at(std::int32_t idx) { return blocks_[static_cast<std::size_t>(idx)]; }
  const Block& at(std::int32_t idx) const { return blocks_[static_cast<std::size_t>(idx)]; }
  std::size_t BucketOf(const BlockHash& hash, std::int32_t group) const;

  void PushFreeFront(std::int32_t idx);
  void PushFreeBack(std::int32_t idx);
  void UnlinkFree(std::int32_t idx);
  void LinkBucket(std::int32_t idx);
  void UnlinkBucket(std::int32_t idx);
  void CheckFreeList() const;
  void CheckBuckets() const;

  std::vector<Block> blocks_;
  std::vector<std::int32_t> buckets_;  // first block of each, a power of two of them
  std::int32_t free_head_ = kNone;
  std::int32_t free_tail_ = kNone;
  std::int64_t num_free_ = 0;
  KvEventSink* events_;
  ThreadChecker thread_;
};

}  // namespace quire
