#include "tokenizer/prefix_cache.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace quire {

namespace {

constexpr std::size_t kMaxTexts = 16;
constexpr std::size_t kMaxBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxTextBytes = std::size_t{2} << 20;

std::size_t BytesOf(const PrefixCache::Entry& entry) {
  return entry.text.size() + entry.ids.size() * sizeof(TokenId) +
         entry.checkpoints.size() * sizeof(ResumePoint);
}

// Bytes that two texts begin with alike.
std::size_t CommonPrefix(std::string_view a, std::string_view b) {
  constexpr std::size_t kBlock = 4096;
  const std::size_t size = std::min(a.size(), b.size());
  std::size_t at = 0;
  while (at + kBlock <= size && std::memcmp(a.data() + at, b.data() + at, kBlock) == 0) {
    at += kBlock;
  }
  while (at < size && a[at] == b[at]) ++at;
  return at;
}

}  // namespace

std::optional<PrefixCache::Hit> PrefixCache::Find(std::string_view text, std::size_t lookahead) {
  std::vector<std::shared_ptr<const Entry>> entries;
  {
    const MutexLock lock(mutex_);
    for (const Slot& slot : slots_) entries.push_back(slot.entry);
  }
  std::optional<Hit> best;
  for (const auto& entry : entries) {
    const std::size_t common = CommonPrefix(text, entry->text);
    const auto after = std::find_if(
        entry->checkpoints.rbegin(), entry->checkpoints.rend(),
        [&](const ResumePoint& checkpoint) { return checkpoint.offset + lookahead <= common; });
    if (after == entry->checkpoints.rend()) continue;
    if (!best || after->offset > best->checkpoint.offset) best = Hit{entry, *after};
  }
  if (!best) return best;
  const MutexLock lock(mutex_);
  for (Slot& slot : slots_) {
    if (slot.entry == best->entry) slot.last_used = ++clock_;
  }
  return best;
}

void PrefixCache::Put(Entry entry) {
  if (entry.text.size() > kMaxTextBytes || entry.checkpoints.empty()) return;
  const std::size_t num_bytes = BytesOf(entry);
  auto shared = std::make_shared<const Entry>(std::move(entry));
  const MutexLock lock(mutex_);
  while (!slots_.empty() && (slots_.size() >= kMaxTexts || num_bytes_ + num_bytes > kMaxBytes)) {
    const auto oldest =
        std::min_element(slots_.begin(), slots_.end(),
                         [](const Slot& a, const Slot& b) { return a.last_used < b.last_used; });
    num_bytes_ -= BytesOf(*oldest->entry);
    slots_.erase(oldest);
  }
  num_bytes_ += num_bytes;
  slots_.push_back({std::move(shared), ++clock_});
}

}  // namespace quire
