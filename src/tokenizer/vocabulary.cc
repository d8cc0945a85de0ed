#include "tokenizer/vocabulary.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "tokenizer/hash_bytes.h"

namespace quire {

namespace {

std::uint32_t TagOf(std::string_view piece) { return static_cast<std::uint32_t>(HashBytes(piece)); }

}  // namespace

void Vocabulary::Reserve(std::size_t num_pieces, std::size_t num_bytes) {
  text_.reserve(num_bytes);
  entries_.reserve(num_pieces);
  std::size_t size = 16;
  while (size < num_pieces * 2) size *= 2;
  if (slots_.empty()) slots_.resize(size);
}

// The first slot from `from` on that has the tag or is empty.
std::size_t Vocabulary::SlotWithTag(std::uint32_t tag, std::size_t from) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = from & mask;
  while (slots_[slot].id != kNoToken && slots_[slot].tag != tag) slot = (slot + 1) & mask;
  return slot;
}

// The slot that holds the piece, or the empty one where it would go.
std::size_t Vocabulary::SlotOf(std::string_view piece, std::uint32_t tag) const {
  std::size_t slot = SlotWithTag(tag, HomeOf(tag));
  while (slots_[slot].id != kNoToken && Text(slots_[slot].id) != piece) {
    slot = SlotWithTag(tag, slot + 1);
  }
  return slot;
}

void Vocabulary::Prefetch(std::string_view piece) const {
  if (!slots_.empty()) __builtin_prefetch(&slots_[HomeOf(TagOf(piece))]);
}

TokenId Vocabulary::Find(std::string_view piece) const {
  return slots_.empty() ? kNoToken : slots_[SlotOf(piece, TagOf(piece))].id;
}

void Vocabulary::FindAll(std::span<const std::string_view> pieces, std::span<TokenId> ids) const {
  QUIRE_CHECK(pieces.size() == ids.size() && pieces.size() <= kMaxBatch) << pieces.size();
  if (slots_.empty()) {
    std::fill(ids.begin(), ids.end(), kNoToken);
    return;
  }
  std::array<std::uint32_t, kMaxBatch> tags;
  std::array<std::size_t, kMaxBatch> slots;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    tags[i] = TagOf(pieces[i]);
    __builtin_prefetch(&slots_[HomeOf(tags[i])]);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    slots[i] = SlotWithTag(tags[i], HomeOf(tags[i]));
    if (slots_[slots[i]].id != kNoToken) __builtin_prefetch(&entries_[slots_[slots[i]].id]);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const TokenId id = slots_[slots[i]].id;
    if (id != kNoToken) __builtin_prefetch(text_.data() + entries_[id].start);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const TokenId id = slots_[slots[i]].id;
    ids[i] = id == kNoToken || Text(id) == pieces[i] ? id : slots_[SlotOf(pieces[i], tags[i])].id;
  }
}

void Vocabulary::Grow() {
  std::vector<Slot> old(std::max<std::size_t>(16, slots_.size() * 2));
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& moved : old) {
    if (moved.id == kNoToken) continue;
    std::size_t slot = HomeOf(moved.tag);
    while (slots_[slot].id != kNoToken) slot = (slot + 1) & mask;
    slots_[slot] = moved;
  }
}

// Empties the slot and closes the gap that this leaves for searches that pass it.
void Vocabulary::Remove(std::size_t slot) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t gap = slot;
  for (std::size_t next = (gap + 1) & mask; slots_[next].id != kNoToken; next = (next + 1) & mask) {
    const std::size_t way = (next - HomeOf(slots_[next].tag)) & mask;  // that its search goes
    if (way < ((next - gap) & mask)) continue;                         // begins behind the gap
    slots_[gap] = slots_[next];
    gap = next;
  }
  slots_[gap] = Slot();
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
  if (Has(id)) {
    const std::string_view before = Text(id);
    const std::size_t slot = SlotOf(before, TagOf(before));
    if (slots_[slot].id == id) {  // the old piece has no other id by now
      if (before == piece) return {};
      Remove(slot);
      --num_pieces_;
    }
  }
  entries_[id] = {static_cast<std::uint32_t>(text_.size()),
                  static_cast<std::uint32_t>(piece.size())};
  text_ += piece;
  longest_ = std::max(longest_, static_cast<int>(piece.size()));
  const std::uint32_t tag = TagOf(piece);
  const std::size_t slot = SlotOf(piece, tag);
  if (slots_[slot].id == kNoToken) {
    slots_[slot] = {tag, id};
    ++num_pieces_;
  } else if (moves) {
    slots_[slot].id = id;
  }
  return {};
}

}  // namespace quire
