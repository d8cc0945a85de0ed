#include "ops/weight_arena.h"

#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

namespace quire::ops {
namespace {

TEST(WeightArena, GivesAlignedPiecesThatDoNotOverlap) {
  WeightArena arena;
  const auto first = *arena.Take(100);
  const auto second = *arena.Take(1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second.get()) % 64, 0U);
  EXPECT_GE(second.get() - first.get(), 100);
}

TEST(WeightArena, GivesPiecesLargerThanItsBuffersAndThenGoesOn) {
  WeightArena arena;
  const auto large = *arena.Take(std::size_t{100} << 20);
  large.get()[(100 << 20) - 1] = std::byte{1};
  const auto small = *arena.Take(std::size_t{60} << 20);
  small.get()[(60 << 20) - 1] = std::byte{1};
}

TEST(WeightArena, MayGoBeforeItsPieces) {
  std::optional<WeightArena> arena(std::in_place);
  const auto piece = *arena->Take(64);
  arena.reset();
  piece.get()[63] = std::byte{7};
  EXPECT_EQ(piece.get()[63], std::byte{7});
}

}  // namespace
}  // namespace quire::ops
