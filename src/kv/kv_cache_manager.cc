#include "kv/kv_cache_manager.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "base/log.h"
#include "base/strings.h"

namespace quire {
namespace {

Status Validate(const KvCacheOptions& options) {
  if (options.spec.groups.empty()) return InvalidArgument("kv_spec: has no group");
  for (const KvGroupSpec& group : options.spec.groups) {
    if (group.kind == AttentionKind::kSlidingWindow && group.window < 1) {
      return InvalidArgument(
          StrCat("kv_spec: a sliding window must be at least 1, got ", group.window));
    }
  }
  if (options.block_size < 1) {
    return InvalidArgument(StrCat("block_size: must be positive, got ", options.block_size));
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (options.num_blocks < 2 || options.num_blocks > kMost) {
    return InvalidArgument(
        StrCat("num_blocks: must be between 2 and ", kMost, ", got ", options.num_blocks));
  }
  return Status();
}

std::int32_t NumTokensFull(std::int32_t num_blocks, std::int32_t block_size) {
  return num_blocks * block_size;
}

}  // namespace

Result<std::unique_ptr<KvCacheManager>> KvCacheManager::Create(const KvCacheOptions& options) {
  QUIRE_RETURN_IF_ERROR(Validate(options));
  return std::unique_ptr<KvCacheManager>(new KvCacheManager(options));
}

KvCacheManager::KvCacheManager(const KvCacheOptions& options)
    : options_(options),
      pool_(options.num_blocks, options.events),
      hasher_(options.hash_algo, options.block_size),
      found_(options.spec.groups.size()),
      num_used_(options.spec.groups.size()) {
  for (const KvGroupSpec& group : options.spec.groups) {
    switch (group.kind) {
      case AttentionKind::kFull:
        groups_.emplace_back(FullAttention());
        break;
      case AttentionKind::kSlidingWindow:
        groups_.emplace_back(SlidingWindow(group.window));
        break;
    }
  }
}

std::int64_t KvCacheManager::MaxBlocksPerRequest(std::int64_t num_tokens) const {
  std::int64_t num_blocks = 0;
  for (const Group& group : groups_) num_blocks += MaxBlocks(group, num_tokens);
  return num_blocks;
}

std::int32_t KvCacheManager::FindPrefix(std::span<const TokenId> tokens, std::int32_t max_tokens,
                                        RequestBlocks& request) {
  if (!MayShare(request)) return 0;
  hasher_.Extend(tokens, request.extra_keys, request.hashes);
  auto num_blocks = static_cast<std::int32_t>(request.hashes.size());
  num_blocks = std::min(num_blocks, max_tokens / block_size());
  // A group's shorter hit may not do for the groups before it: round and round until all agree.
  const std::size_t num_groups = groups_.size();
  std::size_t num_agreed = 0;
  for (std::size_t g = 0; num_agreed < num_groups; g = (g + 1) % num_groups) {
    const auto wanted = static_cast<std::size_t>(num_blocks);
    const std::int32_t num_found = FindInGroup(g, std::span(request.hashes).first(wanted));
    num_agreed = num_found < num_blocks ? 1 : num_agreed + 1;
    num_blocks = num_found;
  }
  return NumTokensFull(num_blocks, block_size());
}

bool KvCacheManager::Admit(const Admission& admission, RequestBlocks& request) {
  QUIRE_DCHECK(admission.num_tokens > admission.num_cached);
  request.tables.resize(groups_.size());
  if (admission.num_cached == 0) {
    for (auto& found : found_) found.clear();
  }
  if (NumLacking(admission) > 0) return false;
  const auto room = static_cast<std::size_t>(BlocksFor(admission.max_tokens, block_size()));
  const auto num_now = static_cast<std::size_t>(BlocksFor(admission.num_tokens, block_size()));
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    for (const BlockId id : found_[g]) {
      if (id != kNullBlock) AddRef(g, id);
    }
  }
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    BlockTable& table = request.tables[g];
    QUIRE_DCHECK(table.ids.empty());
    table.ids.reserve(room);
    table.ids.assign(found_[g].begin(), found_[g].end());
    table.num_released = 0;
    table.num_offered = static_cast<std::int32_t>(found_[g].size());
    AppendNew(g, num_now - found_[g].size(), table.ids);
  }
  request.hashes.reserve(room);
  return true;
}

bool KvCacheManager::Grow(std::int32_t num_computed, std::int32_t num_tokens,
                          RequestBlocks& request, std::vector<std::vector<BlockId>>& new_blocks) {
  ReleaseUnseen(num_computed, request);
  const auto num_wanted = static_cast<std::size_t>(BlocksFor(num_tokens, block_size()));
  std::size_t num_missing = 0;
  for (const BlockTable& table : request.tables) {
    num_missing += num_wanted - std::min(num_wanted, table.ids.size());
  }
  if (num_missing == 0) return true;
  if (static_cast<std::int64_t>(num_missing) > pool_.num_free()) return false;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    std::vector<BlockId>& ids = request.tables[g].ids;
    const std::size_t num_before = ids.size();
    AppendNew(g, num_wanted - std::min(num_wanted, num_before), ids);
    new_blocks[g].insert(new_blocks[g].end(), ids.begin() + static_cast<std::ptrdiff_t>(num_before),
                         ids.end());
  }
  return true;
}

void KvCacheManager::Share(std::span<const TokenId> tokens, std::int32_t num_tokens,
                           RequestBlocks& request) {
  const std::int32_t num_full = num_tokens / block_size();
  if (num_full <= request.tables[0].num_offered || !MayShare(request)) return;
  tokens = tokens.first(static_cast<std::size_t>(NumTokensFull(num_full, block_size())));
  hasher_.Extend(tokens, request.extra_keys, request.hashes);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    BlockTable& table = request.tables[g];
    const auto group = static_cast<std::int32_t>(g);
    std::int32_t run_begin = table.num_offered;  // of blocks stored one after another
    for (std::int32_t idx = table.num_offered; idx < num_full; ++idx) {
      const auto at = static_cast<std::size_t>(idx);
      const BlockId id = table.ids[at];
      if (id != kNullBlock && pool_.Register(id, request.hashes[at], group)) continue;
      StoreEvent(tokens, request, run_begin, idx, group);
      run_begin = idx + 1;
    }
    StoreEvent(tokens, request, run_begin, num_full, group);
    table.num_offered = num_full;
  }
}

void KvCacheManager::Forget(std::int32_t num_tokens, RequestBlocks& request) {
  const std::int32_t first = num_tokens / block_size();
  for (BlockTable& table : request.tables) {
    for (auto idx = static_cast<std::size_t>(first); idx < table.ids.size(); ++idx) {
      if (table.ids[idx] != kNullBlock) pool_.Forget(table.ids[idx]);
    }
    table.num_offered = std::min(table.num_offered, first);
  }
}

void KvCacheManager::Free(RequestBlocks& request) {
  std::size_t num_blocks = 0;
  for (const BlockTable& table : request.tables)
    num_blocks = std::max(num_blocks, table.ids.size());
  for (std::size_t idx = num_blocks; idx-- > 0;) {
    for (std::size_t g = 0; g < request.tables.size(); ++g) {
      const std::vector<BlockId>& ids = request.tables[g].ids;
      if (idx < ids.size() && ids[idx] != kNullBlock) Release(g, ids[idx]);
    }
  }
  for (BlockTable& table : request.tables) {
    table.ids.clear();
    table.num_released = table.num_offered = 0;
  }
}

bool KvCacheManager::ResetPrefixCache() {
  if (pool_.num_used() > 0) return false;
  pool_.ClearPrefixes();
  return true;
}

std::int32_t KvCacheManager::NumUnseenBlocks(const Group& group, std::int64_t num_computed) const {
  return std::visit([&](const auto& g) { return g.NumUnseenBlocks(num_computed, block_size()); },
                    group);
}

std::int64_t KvCacheManager::MaxBlocks(const Group& group, std::int64_t num_tokens) const {
  return std::visit(
      [&](const auto& g) {
        return g.MaxBlocks(num_tokens, options_.max_step_tokens, block_size());
      },
      group);
}

std::int32_t KvCacheManager::FindInGroup(std::size_t group, std::span<const BlockHash> hashes) {
  const auto number = static_cast<std::int32_t>(group);
  std::vector<BlockId>& found = found_[group];
  if (const auto* window = std::get_if<SlidingWindow>(&groups_[group])) {
    return window->FindPrefix(pool_, hashes, number, block_size(), found);
  }
  return std::get<FullAttention>(groups_[group]).FindPrefix(pool_, hashes, number, found);
}

std::int64_t KvCacheManager::NumLacking(const Admission& admission) const {
  std::int64_t num_needed = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    std::int64_t num_held = 0;
    for (const BlockId id : found_[g]) {
      if (id == kNullBlock) continue;
      ++num_held;
      if (pool_.ref_count(id) == 0) ++num_needed;  // it is among the free ones still
    }
    const std::int64_t num_most = MaxBlocks(groups_[g], admission.num_prompt_tokens);
    num_needed += std::max<std::int64_t>(0, num_most - num_held);
  }
  return std::max<std::int64_t>(0, num_needed - pool_.num_free());
}

void KvCacheManager::AppendNew(std::size_t group, std::size_t num_blocks,
                               std::vector<BlockId>& ids) {
  num_used_[group] += static_cast<std::int64_t>(num_blocks);
  for (; num_blocks > 0; --num_blocks) ids.push_back(pool_.Acquire());
}

void KvCacheManager::AddRef(std::size_t group, BlockId id) {
  if (pool_.ref_count(id) == 0) ++num_used_[group];
  pool_.AddRef(id);
}

void KvCacheManager::Release(std::size_t group, BlockId id) {
  pool_.Release(id);
  if (pool_.ref_count(id) == 0) --num_used_[group];
}

void KvCacheManager::ReleaseUnseen(std::int32_t num_computed, RequestBlocks& request) {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    BlockTable& table = request.tables[g];
    const std::int32_t num_unseen = NumUnseenBlocks(groups_[g], num_computed);
    for (std::int32_t idx = num_unseen - 1; idx >= table.num_released; --idx) {
      BlockId& id = table.ids[static_cast<std::size_t>(idx)];
      if (id != kNullBlock) Release(g, id);
      id = kNullBlock;
    }
    table.num_released = std::max(table.num_released, num_unseen);
  }
}

void KvCacheManager::StoreEvent(std::span<const TokenId> tokens, const RequestBlocks& request,
                                std::int32_t begin, std::int32_t end, std::int32_t group) const {
  if (options_.events == nullptr || begin >= end) return;
  const auto first = static_cast<std::size_t>(begin);
  const auto count = static_cast<std::size_t>(end - begin);
  const auto size = static_cast<std::size_t>(block_size());
  KvBlocksStored stored;
  stored.hashes = std::span(request.hashes).subspan(first, count);
  if (begin > 0) stored.parent = request.hashes[first - 1];
  stored.tokens = tokens.subspan(first * size, count * size);
  stored.block_size = block_size();
  stored.group = group;
  options_.events->OnStored(stored);
}

void KvCacheManager::CheckInvariants(std::span<const RequestBlocks* const> requests) const {
  pool_.CheckInvariants();
  std::unordered_map<BlockId, std::int32_t> num_holders;
  for (const RequestBlocks* request : requests) {
    for (const BlockTable& table : request->tables) {
      for (const BlockId id : table.ids) {
        if (id != kNullBlock) ++num_holders[id];
      }
    }
  }
  for (const auto& [id, count] : num_holders) {
    QUIRE_CHECK(pool_.ref_count(id) == count)
        << "block " << id.value() << " has " << pool_.ref_count(id) << " references and " << count
        << " holders";
  }
  QUIRE_CHECK(std::accumulate(num_used_.begin(), num_used_.end(), std::int64_t{0}) ==
              pool_.num_used())
      << "the groups' blocks do not add up";
  QUIRE_CHECK(static_cast<std::int64_t>(num_holders.size()) == pool_.num_used())
      << pool_.num_used() - static_cast<std::int64_t>(num_holders.size()) << " blocks are lost";
}

}  // namespace quire
