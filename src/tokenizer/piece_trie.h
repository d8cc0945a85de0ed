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
  PieceTrie() : PieceTrie(Vocabulary(), std::vector<TokenId>()) {}
  // Of the pieces with these ids; of two ids with one piece the later counts.
  PieceTrie(const Vocabulary& vocabulary, const std::vector<TokenId>& ids);

  // Calls visit(id, length) for each piece that `text` begins with, the shortest first.
  template <typename Visit>
  void VisitPrefixes(std::string_view text, const Visit& visit) const {
    if (text.empty()) return;
    std::int32_t node = roots_[static_cast<unsigned char>(text[0])];
    for (std::size_t i = 1; node >= 0; ++i) {
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
  };

  std::int32_t Child(const Node& node, unsigned char byte) const;

  std::vector<Node> nodes_;
  std::array<std::int32_t, 256> roots_;  // by first byte; -1: none
};

}  // namespace quire
