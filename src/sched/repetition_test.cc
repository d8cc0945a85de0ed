#include "sched/repetition.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "base/count_allocations.h"

namespace quire {
namespace {

// Whether `output` ends with `count` times its last `size` tokens, said in the plainest way.
bool EndsWith(std::span<const TokenId> output, std::size_t size, std::size_t count) {
  if (size * count > output.size()) return false;
  const auto pattern = output.last(size);
  for (std::size_t i = 1; i < count; ++i) {
    const auto before = output.subspan(output.size() - (i + 1) * size, size);
    if (!std::equal(pattern.begin(), pattern.end(), before.begin())) return false;
  }
  return true;
}

// After which of its tokens `output` is found to repeat itself; 0: never.
std::size_t FoundAfter(const std::vector<TokenId>& output, const RepetitionDetection& params,
                       int max_tokens = 1000) {
  RepetitionDetector detector(params, max_tokens);
  for (std::size_t i = 1; i <= output.size(); ++i) {
    if (detector.Hear(std::span(output).first(i))) return i;
  }
  return 0;
}

TEST(RepetitionDetector, FindsPatternsOfTheSizesThatAreLookedFor) {
  const std::vector<TokenId> threes = {9, 1, 2, 3, 1, 2, 3, 1, 2, 3};
  EXPECT_EQ(FoundAfter(threes, {.max_pattern_size = 3, .min_pattern_size = 3, .min_count = 3}), 10);
  EXPECT_EQ(FoundAfter(threes, {.max_pattern_size = 3, .min_pattern_size = 0, .min_count = 2}), 7);
  EXPECT_EQ(FoundAfter(threes, {.max_pattern_size = 2, .min_pattern_size = 0, .min_count = 2}), 0);
  EXPECT_EQ(FoundAfter(threes, {.max_pattern_size = 5, .min_pattern_size = 4, .min_count = 2}), 0);
  EXPECT_EQ(FoundAfter(threes, {.max_pattern_size = 3, .min_pattern_size = 1, .min_count = 4}), 0);
}

TEST(RepetitionDetector, IsOffWhereNoSizeIsLookedForOrNoneCouldComeOftenEnough) {
  const std::vector<TokenId> same(50, 7);
  EXPECT_EQ(FoundAfter(same, {}), 0);
  EXPECT_EQ(FoundAfter(same, {.max_pattern_size = 9, .min_pattern_size = 9, .min_count = 2}, 17),
            0);
  EXPECT_EQ(FoundAfter(same, {.max_pattern_size = 9, .min_pattern_size = 9, .min_count = 2}, 18),
            18);
  EXPECT_EQ(FoundAfter(same, {.max_pattern_size = 9, .min_pattern_size = 0, .min_count = 1 << 30}),
            0);
}

TEST(RepetitionDetector, SaysAfterEachTokenWhatALookAtTheWholeOutputSays) {
  std::mt19937 random(5);
  int num_found = 0;
  for (int round = 0; round < 300; ++round) {
    const int max_size = 1 + static_cast<int>(random() % 8);
    const RepetitionDetection params = {
        .max_pattern_size = max_size,
        .min_pattern_size = static_cast<int>(random() % static_cast<unsigned>(max_size + 1)),
        .min_count = 2 + static_cast<int>(random() % 3)};
    RepetitionDetector detector(params, 60);
    std::vector<TokenId> output;
    for (int i = 0; i < 60; ++i) {
      output.push_back(static_cast<TokenId>(random() % 2));
      bool is_expected = false;
      for (int size = std::max(params.min_pattern_size, 1); size <= max_size; ++size) {
        is_expected |= EndsWith(output, static_cast<std::size_t>(size),
                                static_cast<std::size_t>(params.min_count));
      }
      ASSERT_EQ(detector.Hear(output), is_expected) << "round " << round << " token " << i;
      num_found += is_expected ? 1 : 0;
    }
  }
  EXPECT_GT(num_found, 1000);
}

TEST(RepetitionDetector, AllocatesNothingWhileItHears) {
  const std::vector<TokenId> same(5000, 7);
  RepetitionDetector detector(
      RepetitionDetection{
          .max_pattern_size = kMaxPatternSize, .min_pattern_size = 3000, .min_count = 2},
      8000);
  RepetitionDetector other(
      RepetitionDetection{
          .max_pattern_size = kMaxPatternSize, .min_pattern_size = 1, .min_count = 9000},
      20'000'000);
  const std::int64_t before = NumAllocations();
  bool is_found = false;
  for (std::size_t i = 1; i <= same.size(); ++i) {
    is_found |= detector.Hear(std::span(same).first(i)) || other.Hear(std::span(same).first(i));
  }
  EXPECT_EQ(NumAllocations() - before, 0);
  EXPECT_FALSE(is_found);
}

}  // namespace
}  // namespace quire
