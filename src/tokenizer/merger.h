// Merges neighbouring symbols of a word, best pair first, as byte pair encoding does.
#pragma once

#include <cstdint>
#include <queue>
#include <span>
#include <vector>

#include "base/id.h"

namespace quire {

// A symbol of a word: its id and the bytes of the word it covers.
struct Symbol {
  TokenId id;
  std::uint32_t start, length;
};

// What two neighbours merge into. The lowest rank goes first, the leftmost among equals.
struct MergeRule {
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  std::uint32_t rank = kNone;
  TokenId id = -1;
};

// Says what a pair merges into. Immutable, any thread.
class MergeRules {
 public:
  virtual ~MergeRules() = default;
  virtual MergeRule Find(const Symbol& left, const Symbol& right, const char* word) const = 0;
};

// One thread at a time. Short words are scanned, long ones take a heap: O(n log n).
class Merger {
 public:
  // Merges the symbols of the word that starts at `word` as far as the rules go, in place.
  template <typename Rules>
  void Merge(std::vector<Symbol>& word_symbols, const char* word, const Rules& rules) {
    if (word_symbols.size() < 2) return;
    if (word_symbols.size() <= kMaxScanned) {
      MergeByScanning(word_symbols, word, rules);
    } else {
      MergeByHeap(word_symbols, word, rules);
    }
  }

  std::vector<Symbol> symbols;  // for the caller's word

 private:
  // Where scanning all pairs for each merge is faster than the heap.
  static constexpr std::size_t kMaxScanned = 48;

  template <typename Rules>
  void MergeByScanning(std::vector<Symbol>& word_symbols, const char* word, const Rules& rules);
  template <typename Rules>
  void MergeByHeap(std::vector<Symbol>& word_symbols, const char* word, const Rules& rules);

  std::vector<MergeRule> pairs_;           // of each symbol and the one after it
  std::vector<std::int32_t> next_, prev_;  // linked list of the heap's way; -1: none
  std::vector<std::uint64_t> heap_;        // rank in the upper half, symbol in the lower
};

template <typename Rules>
void Merger::MergeByScanning(std::vector<Symbol>& word_symbols, const char* word,
                             const Rules& rules) {
  std::size_t count = word_symbols.size();
  pairs_.resize(count);
  for (std::size_t i = 0; i + 1 < count; ++i) {
    pairs_[i] = rules.Find(word_symbols[i], word_symbols[i + 1], word);
  }
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i) {
      if (pairs_[i].rank < pairs_[best].rank) best = i;
    }
    if (pairs_[best].rank == MergeRule::kNone) break;
    word_symbols[best].id = pairs_[best].id;
    word_symbols[best].length += word_symbols[best + 1].length;
    for (std::size_t i = best + 1; i + 1 < count; ++i) {
      word_symbols[i] = word_symbols[i + 1];
      pairs_[i] = pairs_[i + 1];
    }
    --count;
    if (best + 1 < count) {
      pairs_[best] = rules.Find(word_symbols[best], word_symbols[best + 1], word);
    }
    if (best > 0) pairs_[best - 1] = rules.Find(word_symbols[best - 1], word_symbols[best], word);
  }
  word_symbols.resize(count);
}

template <typename Rules>
void Merger::MergeByHeap(std::vector<Symbol>& word_symbols, const char* word, const Rules& rules) {
  const auto count = static_cast<std::int32_t>(word_symbols.size());
  pairs_.assign(count, MergeRule());
  next_.resize(count);
  prev_.resize(count);
  heap_.clear();
  for (std::int32_t i = 0; i < count; ++i) {
    prev_[i] = i - 1;
    next_[i] = i + 1 < count ? i + 1 : -1;
    if (i + 1 == count) break;
    pairs_[i] = rules.Find(word_symbols[i], word_symbols[i + 1], word);
    if (pairs_[i].rank != MergeRule::kNone) {
      heap_.push_back(std::uint64_t{pairs_[i].rank} << 32 | static_cast<std::uint32_t>(i));
    }
  }
  std::priority_queue queue(std::greater<std::uint64_t>(), std::move(heap_));
  const auto update = [&](std::int32_t i) {
    pairs_[i] =
        next_[i] < 0 ? MergeRule() : rules.Find(word_symbols[i], word_symbols[next_[i]], word);
    if (pairs_[i].rank != MergeRule::kNone) {
      queue.push(std::uint64_t{pairs_[i].rank} << 32 | static_cast<std::uint32_t>(i));
    }
  };
  while (!queue.empty()) {
    const std::uint64_t top = queue.top();
    queue.pop();
    const auto i = static_cast<std::int32_t>(top & 0xFFFFFFFF);
    if (pairs_[i].rank != top >> 32) continue;  // the pair has changed since
    const std::int32_t gone = next_[i];
    word_symbols[i].id = pairs_[i].id;
    word_symbols[i].length += word_symbols[gone].length;
    pairs_[gone].rank = MergeRule::kNone;
    word_symbols[gone].length = 0;
    next_[i] = next_[gone];
    if (next_[i] >= 0) prev_[next_[i]] = i;
    update(i);
    if (prev_[i] >= 0) update(prev_[i]);
  }
  std::int32_t kept = 0;
  for (std::int32_t i = 0; i >= 0; i = next_[i]) word_symbols[kept++] = word_symbols[i];
  word_symbols.resize(kept);
}

}  // namespace quire
