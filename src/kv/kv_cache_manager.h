// Gives requests the KV blocks that their tokens need, and finds prefixes that are cached.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "base/id.h"
#include "base/status.h"
#include "config/engine_config.h"
#include "config/kv_cache_spec.h"
#include "kv/block_pool.h"
#include "kv/block_table.h"
#include "kv/events.h"
#include "kv/full_attention.h"
#include "kv/prefix_hash.h"
#include "kv/sliding_window.h"

namespace quire {

struct KvCacheOptions {
  KvCacheSpec spec;
  std::int64_t num_blocks = 0;  // the null block included
  std::int32_t block_size = 16;
  std::int64_t max_step_tokens = 0;   // most new tokens of one request in a step
  bool enable_prefix_caching = true;  // off: only within families
  PrefixHashAlgo hash_algo = PrefixHashAlgo::kSha256;
  KvEventSink* events = nullptr;  // outlives the manager
};

// One pool of blocks for all KV groups of a model. Engine thread only. In a running request's step
// nothing here allocates memory, once Admit has reserved its tables.
//
// A block can be shared from the moment its tokens are scheduled: all rows of a step write their K
// and V of a layer before any row reads them. So a scheduled step must be computed, or its blocks
// taken back with Forget.
class KvCacheManager {
 public:
  // kInvalidArgument names the option that is out of its range.
  static Result<std::unique_ptr<KvCacheManager>> Create(const KvCacheOptions& options);

  // The most blocks that a request of `num_tokens` tokens holds at once, over all groups.
  std::int64_t MaxBlocksPerRequest(std::int64_t num_tokens) const;

  // How many leading tokens of a request without blocks are cached, whole blocks of them and at
  // most `max_tokens`. The blocks found are the next Admit's; nothing else may come in between.
  std::int32_t FindPrefix(std::span<const TokenId> tokens, std::int32_t max_tokens,
                          RequestBlocks& request);

  // Gives a request without blocks those found by FindPrefix and new ones for its first
  // `num_tokens` tokens, if the pool could give it `num_prompt_tokens` at once. False: nothing was
  // changed. Reserves room for `max_tokens` tokens. `num_cached` 0 takes nothing from the cache.
  struct Admission {
    std::int32_t num_cached = 0;
    std::int32_t num_tokens = 0;
    std::int32_t num_prompt_tokens = 0;
    std::int32_t max_tokens = 0;
  };
  bool Admit(const Admission& admission, RequestBlocks& request);

  // How many more blocks would have to be free for Admit; 0: it would pass.
  std::int64_t NumLacking(const Admission& admission) const;

  // Makes room for `num_tokens` tokens of which `num_computed` are in the cache, after giving back
  // what fell out of windows. Appends the ids of new blocks to `new_blocks`, one list a group.
  // False: the pool is short, nothing was appended.
  bool Grow(std::int32_t num_computed, std::int32_t num_tokens, RequestBlocks& request,
            std::vector<std::vector<BlockId>>& new_blocks);

  // Lets the full blocks of the first `num_tokens` of `tokens` be found by other requests.
  void Share(std::span<const TokenId> tokens, std::int32_t num_tokens, RequestBlocks& request);

  // The blocks from token `num_tokens` on are no longer found by other requests.
  void Forget(std::int32_t num_tokens, RequestBlocks& request);

  // Gives back all blocks of a request, its last ones first to be evicted.
  void Free(RequestBlocks& request);

  // Forgets every cached prefix; false when blocks are in use and nothing was done.
  bool ResetPrefixCache();

  const BlockPool& pool() const { return pool_; }
  // Blocks that requests hold of a group, each once however many share it.
  std::int64_t num_used(std::int32_t group) const {
    return num_used_[static_cast<std::size_t>(group)];
  }
  std::int32_t num_groups() const { return static_cast<std::int32_t>(groups_.size()); }
  std::int32_t block_size() const { return options_.block_size; }

  // Dies when the pool's references are not exactly those of `requests`, all that hold blocks.
  void CheckInvariants(std::span<const RequestBlocks* const> requests) const;

 private:
  using Group = std::variant<FullAttention, SlidingWindow>;

  explicit KvCacheManager(const KvCacheOptions& options);
  std::int32_t NumUnseenBlocks(const Group& group, std::int64_t num_computed) const;
  std::int64_t MaxBlocks(const Group& group, std::int64_t num_tokens) const;
  std::int32_t FindInGroup(std::size_t group, std::span<const BlockHash> hashes);
  bool MayShare(const RequestBlocks& request) const {
    return options_.enable_prefix_caching || request.is_in_family;
  }
  void AppendNew(std::size_t group, std::size_t num_blocks, std::vector<BlockId>& ids);
  void AddRef(std::size_t group, BlockId id);
  void Release(std::size_t group, BlockId id);
  void ReleaseUnseen(std::int32_t num_computed, RequestBlocks& request);
  void StoreEvent(std::span<const TokenId> tokens, const RequestBlocks& request, std::int32_t begin,
                  std::int32_t end, std::int32_t group) const;

  const KvCacheOptions options_;
  std::vector<Group> groups_;
  BlockPool pool_;
  PrefixHasher hasher_;
  std::vector<std::vector<BlockId>> found_;  // FindPrefix's blocks, one list a group
  std::vector<std::int64_t> num_used_;       // one a group
};

}  // namespace quire
