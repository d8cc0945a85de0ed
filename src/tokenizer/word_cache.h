// Remembers the ids of words, bounded in entries and bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"

namespace quire {

// One thread at a time. When it is full it forgets everything.
class WordCache {
 public:
  static constexpr std::size_t kMaxWordBytes = 128;

  WordCache();

  // The ids of the word, valid until the next Put; nullopt where it is not known.
  std::optional<std::span<const TokenId>> Find(std::string_view word, std::uint64_t hash) const;
  // Remembers a word that Find() did not know; longer ones than kMaxWordBytes are passed over.
  void Put(std::string_view word, std::uint64_t hash, std::span<const TokenId> ids);
  void Clear();

 private:
  struct Entry {
    std::uint64_t hash = 0;
    std::uint32_t text_start = 0, ids_start = 0;
    std::uint16_t text_length = 0, num_ids = 0;
    bool is_used = false;
  };

  std::vector<Entry> entries_;
  std::string text_;
  std::vector<TokenId> ids_;
  std::size_t num_used_ = 0;
};

}  // namespace quire
