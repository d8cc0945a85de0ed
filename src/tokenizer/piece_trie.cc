#include "tokenizer/piece_trie.h"

#include <algorithm>

namespace quire {

namespace {

// A piece with its first bytes, by which most are told apart without a look at their texts.
struct SortedPiece {
  static constexpr std::size_t kHeadBytes = 8;
  std::uint64_t head = 0;  // the first byte highest; zeros behind a short piece
  std::uint32_t length;
  TokenId id;
};

SortedPiece MakeSortedPiece(std::string_view text, TokenId id) {
  SortedPiece piece{.length = static_cast<std::uint32_t>(text.size()), .id = id};
  for (std::size_t i = 0; i < std::min(text.size(), SortedPiece::kHeadBytes); ++i) {
    piece.head |= std::uint64_t{static_cast<unsigned char>(text[i])} << (56 - 8 * i);
  }
  return piece;
}

std::vector<SortedPiece> SortPieces(const Vocabulary& vocabulary, const std::vector<TokenId>& ids) {
  std::vector<SortedPiece> sorted;
  sorted.reserve(ids.size());
  for (const TokenId id : ids) {
    const std::string_view text = vocabulary.Text(id);
    if (!text.empty()) sorted.push_back(MakeSortedPiece(text, id));
  }
  std::stable_sort(sorted.begin(), sorted.end(), [&](const SortedPiece& a, const SortedPiece& b) {
    if (a.head != b.head) return a.head < b.head;
    if (std::min(a.length, b.length) <= SortedPiece::kHeadBytes) return a.length < b.length;
    return vocabulary.Text(a.id) < vocabulary.Text(b.id);
  });
  return sorted;
}

// Pieces [begin, end) of the sorted list share their first `depth` bytes, those of `node`.
struct Span {
  std::size_t begin, end;
  std::size_t depth;
  std::int32_t node;
};

}  // namespace

PieceTrie::PieceTrie(const Vocabulary& vocabulary, const std::vector<TokenId>& ids)
    : vocabulary_(&vocabulary) {
  const std::vector<SortedPiece> sorted = SortPieces(vocabulary, ids);
  const auto byte_at = [&](const SortedPiece& piece, std::size_t at) {
    return at < SortedPiece::kHeadBytes ? static_cast<unsigned char>(piece.head >> (56 - 8 * at))
                                        : static_cast<unsigned char>(vocabulary.Text(piece.id)[at]);
  };
  roots_.fill(-1);
  nodes_.reserve(sorted.size() * 3 / 2);
  std::vector<Span> waiting{{0, sorted.size(), 0, -1}};
  while (!waiting.empty()) {
    const Span span = waiting.back();
    waiting.pop_back();
    std::size_t at = span.begin;
    // Pieces that end here stand first.
    for (; at < span.end && sorted[at].length == span.depth; ++at) {
      nodes_[span.node].id = sorted[at].id;
    }
    const auto first_child = static_cast<std::int32_t>(nodes_.size());
    while (at < span.end) {
      const unsigned char byte = byte_at(sorted[at], span.depth);
      std::size_t end = at + 1;
      while (end < span.end && byte_at(sorted[end], span.depth) == byte) ++end;
      const auto child = static_cast<std::int32_t>(nodes_.size());
      const bool is_single = end - at == 1;
      nodes_.push_back({.id = is_single ? sorted[at].id : kNoToken,
                        .byte = byte,
                        .has_tail = is_single && sorted[at].length > span.depth + 1});
      if (!is_single) waiting.push_back({at, end, span.depth + 1, child});
      if (span.node < 0) roots_[byte] = child;
      at = end;
    }
    if (span.node < 0) continue;
    nodes_[span.node].first_child = first_child;
    nodes_[span.node].num_children = static_cast<std::uint16_t>(nodes_.size() - first_child);
  }
  nodes_.shrink_to_fit();
}

std::int32_t PieceTrie::Child(const Node& node, unsigned char byte) const {
  const Node* first = nodes_.data() + node.first_child;
  const Node* last = first + node.num_children;
  constexpr int kMaxScanned = 8;
  if (node.num_children <= kMaxScanned) {
    for (; first != last && first->byte < byte; ++first) {
    }
  } else {
    first = std::lower_bound(first, last, byte,
                             [](const Node& child, unsigned char b) { return child.byte < b; });
  }
  return first != last && first->byte == byte ? static_cast<std::int32_t>(first - nodes_.data())
                                              : -1;
}

}  // namespace quire
