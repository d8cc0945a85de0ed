// A text on its way through the pre-tokenizers: what it is cut into so far.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace quire {

struct Piece {
  std::size_t begin, end;  // bytes of Pieces::text
  bool is_start;           // begins where the whole input begins
};

struct Pieces {
  std::string text;
  std::vector<Piece> list;  // in order; may leave text out

  std::string_view View(const Piece& piece) const {
    return std::string_view(text).substr(piece.begin, piece.end - piece.begin);
  }
  // One piece that is the whole text.
  void Reset(std::string whole, bool is_start) {
    text = std::move(whole);
    list.clear();
    if (!text.empty()) list.push_back({0, text.size(), is_start});
  }
};

}  // namespace quire
