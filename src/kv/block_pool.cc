#include "kv/block_pool.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/log.h"

namespace quire {

BlockPool::BlockPool(std::int64_t num_blocks, KvEventSink* events) : events_(events) {
  QUIRE_CHECK(num_blocks > 1 && num_blocks <= std::numeric_limits<std::int32_t>::max())
      << "num_blocks " << num_blocks;
  blocks_.resize(static_cast<std::size_t>(num_blocks));
  buckets_.assign(std::bit_ceil(static_cast<std::size_t>(num_blocks)), kNone);
  at(kNullBlock).refs = 1;
  for (std::int32_t idx = 1; idx < num_blocks; ++idx) PushFreeBack(idx);
}

BlockId BlockPool::Acquire() {
  thread_.Check();
  QUIRE_CHECK(free_head_ != kNone) << "no free block";
  const BlockId id(free_head_);
  UnlinkFree(id.value());
  Forget(id);
  at(id).refs = 1;
  return id;
}

void BlockPool::AddRef(BlockId id) {
  QUIRE_DCHECK(id != kNullBlock);
  if (at(id).refs++ == 0) UnlinkFree(id.value());
}

void BlockPool::Release(BlockId id) {
  thread_.Check();
  QUIRE_DCHECK(id != kNullBlock);
  Block& block = at(id);
  QUIRE_CHECK(block.refs > 0) << "block " << id.value() << " is freed twice";
  if (--block.refs > 0) return;
  if (is_registered(id)) {
    PushFreeBack(id.value());
  } else {
    PushFreeFront(id.value());
  }
}

bool BlockPool::Register(BlockId id, const BlockHash& hash, std::int32_t group) {
  QUIRE_DCHECK(at(id).refs > 0 && id != kNullBlock && group >= 0);
  const std::optional<BlockId> holder = Find(hash, group);
  if (holder == id) return false;
  if (holder && at(*holder).refs > 0) return false;
  if (holder) {
    // The free one has nothing left to offer: the next to be handed out.
    UnlinkBucket(holder->value());
    UnlinkFree(holder->value());
    PushFreeFront(holder->value());
  }
  Forget(id);
  at(id).hash = hash;
  at(id).group = group;
  LinkBucket(id.value());
  return !holder;
}

void BlockPool::Forget(BlockId id) {
  if (!is_registered(id)) return;
  const std::int32_t group = at(id).group;
  UnlinkBucket(id.value());
  if (events_ != nullptr) events_->OnRemoved(at(id).hash, group);
}

std::optional<BlockId> BlockPool::Find(const BlockHash& hash, std::int32_t group) const {
  std::int32_t idx = buckets_[BucketOf(hash, group)];
  while (idx != kNone && (at(idx).hash != hash || at(idx).group != group)) {
    idx = at(idx).bucket_next;
  }
  if (idx == kNone) return std::nullopt;
  return BlockId(idx);
}

void BlockPool::ClearPrefixes() {
  thread_.Check();
  for (Block& block : blocks_) {
    block.group = block.bucket_prev = block.bucket_next = kNone;
  }
  std::fill(buckets_.begin(), buckets_.end(), kNone);
  if (events_ != nullptr) events_->OnCleared();
}

std::size_t BlockPool::BucketOf(const BlockHash& hash, std::int32_t group) const {
  constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15;  // so that groups do not share buckets
  return (hash.words[0] + static_cast<std::uint64_t>(group) * kSpread) & (buckets_.size() - 1);
}

void BlockPool::PushFreeFront(std::int32_t idx) {
  at(idx).free_prev = kNone;
  at(idx).free_next = free_head_;
  (free_head_ == kNone ? free_tail_ : at(free_head_).free_prev) = idx;
  free_head_ = idx;
  ++num_free_;
}

void BlockPool::PushFreeBack(std::int32_t idx) {
  at(idx).free_prev = free_tail_;
  at(idx).free_next = kNone;
  (free_tail_ == kNone ? free_head_ : at(free_tail_).free_next) = idx;
  free_tail_ = idx;
  ++num_free_;
}

void BlockPool::UnlinkFree(std::int32_t idx) {
  Block& block = at(idx);
  (block.free_prev == kNone ? free_head_ : at(block.free_prev).free_next) = block.free_next;
  (block.free_next == kNone ? free_tail_ : at(block.free_next).free_prev) = block.free_prev;
  block.free_prev = block.free_next = kNone;
  --num_free_;
}

void BlockPool::LinkBucket(std::int32_t idx) {
  Block& block = at(idx);
  std::int32_t& head = buckets_[BucketOf(block.hash, block.group)];
  block.bucket_prev = kNone;
  block.bucket_next = head;
  if (head != kNone) at(head).bucket_prev = idx;
  head = idx;
}

void BlockPool::UnlinkBucket(std::int32_t idx) {
  Block& block = at(idx);
  std::int32_t& before = block.bucket_prev == kNone ? buckets_[BucketOf(block.hash, block.group)]
                                                    : at(block.bucket_prev).bucket_next;
  before = block.bucket_next;
  if (block.bucket_next != kNone) at(block.bucket_next).bucket_prev = block.bucket_prev;
  block.group = block.bucket_prev = block.bucket_next = kNone;
}

void BlockPool::CheckInvariants() const {
  QUIRE_CHECK(at(kNullBlock).refs == 1 && !is_registered(kNullBlock));
  CheckFreeList();
  CheckBuckets();
}

void BlockPool::CheckFreeList() const {
  std::int64_t num_listed = 0;
  std::int32_t prev = kNone;
  for (std::int32_t idx = free_head_; idx != kNone; idx = at(idx).free_next) {
    QUIRE_CHECK(at(idx).refs == 0 && at(idx).free_prev == prev) << "block " << idx;
    QUIRE_CHECK(++num_listed <= num_free_) << "the free list has a loop";
    prev = idx;
  }
  QUIRE_CHECK(num_listed == num_free_ && prev == free_tail_);
  std::int64_t num_unused = 0;
  for (const Block& block : blocks_) {
    QUIRE_CHECK(block.refs >= 0);
    num_unused += block.refs == 0 ? 1 : 0;
  }
  QUIRE_CHECK(num_unused == num_free_) << num_unused << " blocks unused, " << num_free_ << " free";
}

void BlockPool::CheckBuckets() const {
  std::int64_t num_registered = 0;
  for (std::int32_t idx = 0; idx <= num_total(); ++idx) {
    if (at(idx).group == kNone) continue;
    ++num_registered;
    const std::optional<BlockId> found = Find(at(idx).hash, at(idx).group);
    QUIRE_CHECK(found == BlockId(idx)) << "two blocks answer for the content of block " << idx;
  }
  std::int64_t num_linked = 0;
  for (std::int32_t head : buckets_) {
    for (std::int32_t idx = head; idx != kNone; idx = at(idx).bucket_next) ++num_linked;
  }
  QUIRE_CHECK(num_linked == num_registered);
}

}  // namespace quire
