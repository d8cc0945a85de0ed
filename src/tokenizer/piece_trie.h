// A set of pieces that tells which of them a text begins with.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "tokenizer/vocabulary.h"

namespace quire {

// Immutable; any thread.
class PieceTrie {
 public:
  PieceTrie() { roots_.fill(-1); }
  // Of the pieces with these ids; of two ids with one piece the later counts. The vocabulary must
  // outlive the trie.
  PieceTrie(const Vocabulary& vocabulary, const std::vector<TokenId>& ids);

  // Calls visit(id, length) for each piece that `text` begins with, the shortest first.
  template <typename Visit>
  void VisitPrefixes(std::string_view text, const Visit& visit) const {
    if (text.empty()) return;
    std::int32_t node = roots_[static_cast<unsigned char>(text[0])];
    for (std::size_t i = 1; node >= 0; ++i) {
      if (nodes_[node].has_tail) {
        const std::string_view piece = vocabulary_->Text(nodes_[node].id);
        if (text.substr(i).starts_with(piece.substr(i))) visit(nodes_[node].id, piece.size());
        return;
      }
      if (nodes_[node].id != kNoToken) visit(nodes_[node].id, i);
      if (i == text.size()) return;
      node = Child(nodes_[node], static_cast<unsigned char>(text[i]));
    }
  }

 private:
  struct Node {
    std::int32_t first_child = 0;  // children stand side by side, sorted by byte
    TokenId id = kNoToken;
    std::uint16_t num_children = 0;
    unsigned char byte = 0;
    bool has_tail = false;  // only one piece is left: `id`, whose further bytes make no nodes
  };

  std::int32_t Child(const Node& node, unsigned char byte) const;

  const Vocabulary* vocabulary_ = nullptr;
  std::vector<Node> nodes_;
  std::array<std::int32_t, 256> roots_;  // by first byte; -1: none
};

}  // namespace quire
