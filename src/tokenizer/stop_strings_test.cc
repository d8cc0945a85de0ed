#include "tokenizer/stop_strings.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace quire {
namespace {

StopStrings Make(const std::vector<std::string>& stops, bool keep = false) {
  return *StopStrings::Create(stops, keep);
}

// The text given out for pieces of `size` bytes, and the flush where nothing matched.
std::string Feed(StopStrings& stops, std::string_view text, std::size_t size) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += size) out += stops.Append(text.substr(at, size));
  return stops.matched() ? out : out + stops.Finish();
}

TEST(StopStrings, TextBeforeTheStopIsTheSameHoweverThePiecesAreCut) {
  for (std::size_t size = 1; size <= 14; ++size) {
    StopStrings stops = Make({"green blue"});
    EXPECT_EQ(Feed(stops, "red green blue", size), "red ") << size;
    EXPECT_EQ(stops.matched(), "green blue");
  }
}

TEST(StopStrings, AStopInsideOneTokenIsFound) {
  StopStrings stops = Make({"Lis"});
  EXPECT_EQ(stops.Append(" Lisbon"), " ");
  EXPECT_EQ(stops.matched(), "Lis");
  EXPECT_EQ(stops.Append("more"), "");
}

TEST(StopStrings, EmptyStopsAndNoStopsNeverStop) {
  for (const std::vector<std::string>& list : {std::vector<std::string>{}, {""}}) {
    StopStrings stops = Make(list);
    EXPECT_EQ(stops.Append("text"), "text");
    EXPECT_FALSE(stops.matched());
  }
}

TEST(StopStrings, ALongStopDoesNotDelayTextThatCannotBeginIt) {
  StopStrings stops = Make({std::string(40, '#')});
  EXPECT_EQ(stops.Append("plain"), "plain");
  EXPECT_EQ(stops.num_held(), 0u);
  EXPECT_EQ(stops.Append("a##"), "a");
  EXPECT_EQ(stops.num_held(), 2u);
  EXPECT_EQ(stops.Append("b"), "##b");
  EXPECT_EQ(stops.Append("#"), "");
  EXPECT_EQ(stops.Finish(), "#");
}

TEST(StopStrings, KeepingTheStopEndsTheTextAfterIt) {
  StopStrings stops = Make({"END"}, true);
  EXPECT_EQ(stops.Append("xEN"), "x");
  EXPECT_EQ(stops.Append("D more"), "END");
}

TEST(StopStrings, OfStopsThatEndAtOnePlaceTheLongestCounts) {
  for (const std::vector<std::string>& list : {std::vector<std::string>{"b", "ab"}, {"ab", "b"}}) {
    StopStrings stops = Make(list);
    EXPECT_EQ(Feed(stops, "xxab", 1), "xx");
    EXPECT_EQ(stops.matched(), "ab");
  }
}

TEST(StopStrings, TheStopThatEndsFirstCounts) {
  StopStrings stops = Make({"abcd", "bc"});
  EXPECT_EQ(Feed(stops, "zabcd", 2), "za");
  EXPECT_EQ(stops.matched(), "bc");
}

TEST(StopStrings, NoHalfCharacterIsGivenOut) {
  StopStrings stops = Make({"\xC3\xA9\x78"});  // é and x
  EXPECT_EQ(stops.Append("a\xC3\xA8"), "a\xC3\xA8");
  EXPECT_EQ(stops.Append("\xC3\xA9"), "");
  EXPECT_EQ(stops.Append("y"), "\xC3\xA9y");
}

TEST(StopStrings, TooManyBytesOfStopsAreRefused) {
  EXPECT_FALSE(StopStrings::Create({std::string(70'000, 'a')}).ok());
}

}  // namespace
}  // namespace quire
