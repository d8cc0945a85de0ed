// The name under which a full block's content is found again.
#pragma once

#include <array>
#include <compare>
#include <cstdint>

namespace quire {

// A digest over a block's tokens and everything before them. xxh3 fills the first half only.
struct BlockHash {
  std::array<std::uint64_t, 4> words{};

  friend auto operator<=>(const BlockHash&, const BlockHash&) = default;
};

}  // namespace quire
