// Pieces and their ids: one block of text and one flat table, no allocation a piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/status.h"

namespace quire {

inline constexpr TokenId kNoToken = -1;
inline constexpr TokenId kMaxTokenId = (1 << 22) - 1;  // bounds what a hostile file can allocate

class Vocabulary {
 public:
  // Makes room for so many pieces of so many bytes in all.
  void Reserve(std::size_t num_pieces, std::size_t num_bytes);

  // Gives `piece` the id. A piece that stands there already keeps its first id for Find(); an id
  // that has a piece already takes the new one. kInvalidArgument for an id out of range and for
  // more than 4 GiB of pieces.
  Status Add(std::string_view piece, TokenId id);

  // As Add, but a later id of the same piece is the one that Find() gives.
  Status AddOrMove(std::string_view piece, TokenId id);

  // Begins to fetch the memory where the piece stands or would go, for an Add soon after.
  void Prefetch(std::string_view piece) const;
  static constexpr std::size_t kPrefetchDistance = 16;  // pieces: how much sooner is enough

  // The id of the piece; kNoToken where there is none.
  TokenId Find(std::string_view piece) const;

  // The ids of as many pieces as `ids` has room for, at most kMaxBatch. Large vocabularies lie far
  // from the processor: here it waits for all the look-ups at once.
  static constexpr std::size_t kMaxBatch = 128;
  void FindAll(std::span<const std::string_view> pieces, std::span<TokenId> ids) const;

  bool Has(TokenId id) const {
    return id >= 0 && static_cast<std::size_t>(id) < entries_.size() &&
           entries_[id].start != kAbsent;
  }
  std::string_view Text(TokenId id) const {  // "" for an id without a piece
    if (!Has(id)) return {};
    return std::string_view(text_).substr(entries_[id].start, entries_[id].length);
  }

  int id_end() const { return static_cast<int>(entries_.size()); }  // one past the largest id
  int num_pieces() const { return num_pieces_; }                    // distinct ones
  int longest_bytes() const { return longest_; }

 private:
  static constexpr std::uint32_t kAbsent = 0xFFFFFFFF;
  struct Entry {
    std::uint32_t start = kAbsent, length = 0;
  };

  // Where the tags differ so do the pieces, and neither entry nor text is looked at.
  struct Slot {
    std::uint32_t tag = 0;  // of the piece's hash; its lower bits say where the search begins
    TokenId id = kNoToken;
  };

  Status AddPiece(std::string_view piece, TokenId id, bool moves);
  void Grow();
  void Remove(std::size_t slot);
  std::size_t SlotOf(std::string_view piece, std::uint32_t tag) const;
  std::size_t SlotWithTag(std::uint32_t tag, std::size_t from) const;
  std::size_t HomeOf(std::uint32_t tag) const { return tag & (slots_.size() - 1); }

  std::string text_;
  std::vector<Entry> entries_;  // by id
  std::vector<Slot> slots_;     // open addressing; a power of two, at most half full
  int num_pieces_ = 0;
  int longest_ = 0;
};

}  // namespace quire
