#include "tokenizer/word_cache.h"

namespace quire {

namespace {

constexpr std::size_t kFirstEntries = 1 << 10;
constexpr std::size_t kMaxEntries = 1 << 16;

}  // namespace

WordCache::WordCache() : entries_(kFirstEntries) {}

void WordCache::Clear() {
  entries_.assign(kFirstEntries, Entry());
  text_.clear();
  ids_.clear();
  num_used_ = 0;
}

std::optional<std::span<const TokenId>> WordCache::Find(std::string_view word,
                                                        std::uint64_t hash) const {
  const std::size_t mask = entries_.size() - 1;
  for (std::size_t slot = hash & mask; entries_[slot].is_used; slot = (slot + 1) & mask) {
    const Entry& entry = entries_[slot];
    if (entry.hash == hash &&
        word == std::string_view(text_).substr(entry.text_start, entry.text_length)) {
      return std::span(ids_).subspan(entry.ids_start, entry.num_ids);
    }
  }
  return std::nullopt;
}

void WordCache::Put(std::string_view word, std::uint64_t hash, std::span<const TokenId> ids) {
  if (word.size() > kMaxWordBytes) return;
  if (num_used_ * 2 >= entries_.size()) {
    if (entries_.size() >= kMaxEntries) {
      Clear();
    } else {
      std::vector<Entry> old(entries_.size() * 2);
      old.swap(entries_);
      const std::size_t mask = entries_.size() - 1;
      for (const Entry& entry : old) {
        if (!entry.is_used) continue;
        std::size_t slot = entry.hash & mask;
        while (entries_[slot].is_used) slot = (slot + 1) & mask;
        entries_[slot] = entry;
      }
    }
  }
  const std::size_t mask = entries_.size() - 1;
  std::size_t slot = hash & mask;
  while (entries_[slot].is_used) slot = (slot + 1) & mask;
  entries_[slot] = {hash,
                    static_cast<std::uint32_t>(text_.size()),
                    static_cast<std::uint32_t>(ids_.size()),
                    static_cast<std::uint16_t>(word.size()),
                    static_cast<std::uint16_t>(ids.size()),
                    true};
  text_ += word;
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  ++num_used_;
}

}  // namespace quire
