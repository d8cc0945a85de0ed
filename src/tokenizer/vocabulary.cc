#include "tokenizer/vocabulary.h"

#include <algorithm>

#include "base/strings.h"
#include "tokenizer/hash_bytes.h"

namespace quire {

void Vocabulary::Reserve(std::size_t num_pieces, std::size_t num_bytes) {
  text_.reserve(num_bytes);
  entries_.reserve(num_pieces);
  std::size_t size = 16;
  while (size < num_pieces * 2) size *= 2;
  if (slots_.empty()) slots_.assign(size, kNoToken);
}

// The slot that holds the piece, or the empty one where it would go.
std::size_t Vocabulary::SlotOf(std::string_view piece) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = HashBytes(piece) & mask;
  while (slots_[slot] != kNoToken && Text(slots_[slot]) != piece) slot = (slot + 1) & mask;
  return slot;
}

TokenId Vocabulary::Find(std::string_view piece) const {
  return slots_.empty() ? kNoToken : slots_[SlotOf(piece)];
}

void Vocabulary::Grow() {
  std::vector<TokenId> old(std::max<std::size_t>(16, slots_.size() * 2), kNoToken);
  old.swap(slots_);
  for (const TokenId id : old) {
    if (id != kNoToken) slots_[SlotOf(Text(id))] = id;
  }
}

Status Vocabulary::Add(std::string_view piece, TokenId id) { return AddPiece(piece, id, false); }

Status Vocabulary::AddOrMove(std::string_view piece, TokenId id) {
  return AddPiece(piece, id, true);
}

Status Vocabulary::AddPiece(std::string_view piece, TokenId id, bool moves) {
  if (id < 0 || id > kMaxTokenId) {
    return InvalidArgument(
        StrCat("token \"", Printable(piece), "\": id must be 0 to ", kMaxTokenId, ", got ", id));
  }
  if (text_.size() + piece.size() >= kAbsent) {
    return InvalidArgument("vocabulary: pieces take more than 4 GiB");
  }
  if (static_cast<std::size_t>(num_pieces_ + 1) * 2 > slots_.size()) Grow();
  if (static_cast<std::size_t>(id) >= entries_.size()) entries_.resize(id + 1);
  const TokenId before = Has(id) ? Find(Text(id)) : kNoToken;
  if (before == id && Text(id) == piece) return {};
  if (before == id) {  // the id changes its piece: rebuild what pointed at the old text
    entries_[id] = {};
    std::vector<TokenId> old(slots_.size(), kNoToken);
    old.swap(slots_);
    for (const TokenId other : old) {
      if (other != kNoToken && other != id) slots_[SlotOf(Text(other))] = other;
    }
    --num_pieces_;
  }
  entries_[id] = {static_cast<std::uint32_t>(text_.size()),
                  static_cast<std::uint32_t>(piece.size())};
  text_ += piece;
  longest_ = std::max(longest_, static_cast<int>(piece.size()));
  const std::size_t slot = SlotOf(piece);
  if (slots_[slot] == kNoToken) {
    slots_[slot] = id;
    ++num_pieces_;
  } else if (moves) {
    slots_[slot] = id;
  }
  return {};
}

}  // namespace quire
