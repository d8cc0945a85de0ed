#include "tokenizer/piece_trie.h"

#include <algorithm>

namespace quire {

namespace {

// Pieces [begin, end) of the sorted list share their first `depth` bytes, those of `node`.
struct Span {
  std::size_t begin, end;
  std::size_t depth;
  std::int32_t node;
};

}  // namespace

PieceTrie::PieceTrie(const Vocabulary& vocabulary, const std::vector<TokenId>& ids) {
  std::vector<TokenId> sorted;
  for (const TokenId id : ids) {
    if (!vocabulary.Text(id).empty()) sorted.push_back(id);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](TokenId a, TokenId b) { return vocabulary.Text(a) < vocabulary.Text(b); });
  std::vector<Span> queue{{0, sorted.size(), 0, -1}};
  nodes_.reserve(sorted.size() * 2);
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const Span span = queue[i];
    std::size_t at = span.begin;
    // Pieces that end here stand first.
    for (; at < span.end && vocabulary.Text(sorted[at]).size() == span.depth; ++at) {
      nodes_[span.node].id = sorted[at];
    }
    const auto first_child = static_cast<std::int32_t>(nodes_.size());
    while (at < span.end) {
      const char byte = vocabulary.Text(sorted[at])[span.depth];
      std::size_t end = at;
      while (end < span.end && vocabulary.Text(sorted[end])[span.depth] == byte) ++end;
      queue.push_back({at, end, span.depth + 1, static_cast<std::int32_t>(nodes_.size())});
      nodes_.push_back({0, kNoToken, 0, static_cast<unsigned char>(byte)});
      at = end;
    }
    if (span.node < 0) continue;
    nodes_[span.node].first_child = first_child;
    nodes_[span.node].num_children = static_cast<std::uint16_t>(nodes_.size() - first_child);
  }
  roots_.fill(-1);
  for (std::size_t i = 0; i < nodes_.size() && i < queue.size(); ++i) {
    if (queue[i + 1].depth != 1) break;  // the first level comes first
    roots_[nodes_[i].byte] = static_cast<std::int32_t>(i);
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
