// Remembers how long texts were encoded, so that one that goes on from them costs its tail only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/mutex.h"

namespace quire {

// A place in a text, right behind an added token: what stands before it was encoded to `num_ids`
// ids, and what comes after it changes none of them (but see PrefixCache::Find).
struct ResumePoint {
  std::size_t offset;  // in bytes
  std::size_t num_ids;
};

// Any thread. Bounded in texts and bytes; the text that was used longest ago goes first.
class PrefixCache {
 public:
  static constexpr std::size_t kMinTextBytes = 2048;  // shorter ones are encoded as fast

  // A text that was encoded; immutable.
  struct Entry {
    std::string text;
    std::vector<TokenId> ids;
    std::vector<ResumePoint> checkpoints;  // ascending
  };
  struct Hit {
    std::shared_ptr<const Entry> entry;
    ResumePoint checkpoint;
  };

  // The longest known beginning of `text` up to a checkpoint after which at least `lookahead` more
  // bytes are the same, so that no longer token can begin before it.
  std::optional<Hit> Find(std::string_view text, std::size_t lookahead);
  void Put(Entry entry);

 private:
  struct Slot {
    std::shared_ptr<const Entry> entry;
    std::uint64_t last_used = 0;
  };

  Mutex mutex_;
  std::vector<Slot> slots_ QUIRE_GUARDED_BY(mutex_);
  std::size_t num_bytes_ QUIRE_GUARDED_BY(mutex_) = 0;
  std::uint64_t clock_ QUIRE_GUARDED_BY(mutex_) = 0;
};

}  // namespace quire
