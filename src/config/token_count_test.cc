#include "config/token_count.h"

#include <gtest/gtest.h>

namespace quire {
namespace {

std::int64_t Count(std::string_view text) {
  const auto count = ParseTokenCount(text);
  EXPECT_TRUE(count.ok()) << text << ": " << count.status().message();
  return count.ok() ? *count : -1;
}

TEST(TokenCount, LowerCaseLettersAreDecimalAndUpperCaseOnesBinary) {
  EXPECT_EQ(Count("4096"), 4096);
  EXPECT_EQ(Count("0"), 0);
  EXPECT_EQ(Count("4k"), 4000);
  EXPECT_EQ(Count("4K"), 4096);
  EXPECT_EQ(Count("2m"), 2000000);
  EXPECT_EQ(Count("2M"), 2097152);
  EXPECT_EQ(Count("3g"), 3000000000);
  EXPECT_EQ(Count("3G"), 3221225472);
  EXPECT_EQ(Count("1t"), 1000000000000);
  EXPECT_EQ(Count("1T"), 1099511627776);
}

TEST(TokenCount, FractionsAreExactAndCutOffBelowOne) {
  EXPECT_EQ(Count("1.5k"), 1500);
  EXPECT_EQ(Count("1.5K"), 1536);
  EXPECT_EQ(Count("25.6k"), 25600);
  EXPECT_EQ(Count("0.1G"), 107374182);
  EXPECT_EQ(Count("1.0009k"), 1000);
  EXPECT_EQ(Count("1.000000000000001t"), 1000000000000);
}

TEST(TokenCount, TheLargestCountIsThatOf64Bits) {
  EXPECT_EQ(Count("9223372036854775807"), 9223372036854775807);
  EXPECT_EQ(Count("8388607.999T"), 9223372035755264180);
  for (const char* text : {"9223372036854775808", "8388608T", "99999999999999999999k"}) {
    EXPECT_FALSE(ParseTokenCount(text).ok()) << text;
  }
}

TEST(TokenCount, AnythingElseIsRefusedWithTheText) {
  for (const char* text : {"", "k", "-1", "-4k", "+4", "4kk", "4 k", " 4", "4.", ".5k", "1.5", "4x",
                           "0x10", "1e3", "1.5.5k", "1.0000000000000001k", "4k\n"}) {
    EXPECT_FALSE(ParseTokenCount(text).ok()) << text;
  }
  EXPECT_EQ(ParseTokenCount("4x").status().message(),
            "must be a count such as 4096, 4k, 4K or 1.5m, got '4x'");
}

TEST(MaxModelLen, IsTheModelsOwnWhatFitsOrACount) {
  EXPECT_EQ(*ParseMaxModelLen(""), MaxModelLen(ModelsOwnLength{}));
  EXPECT_EQ(*ParseMaxModelLen("auto"), MaxModelLen(LengthThatFits{}));
  EXPECT_EQ(*ParseMaxModelLen("-1"), MaxModelLen(LengthThatFits{}));
  EXPECT_EQ(*ParseMaxModelLen("4K"), MaxModelLen(std::int64_t{4096}));
  EXPECT_FALSE(ParseMaxModelLen("0").ok());
  EXPECT_FALSE(ParseMaxModelLen("Auto").ok());
  EXPECT_FALSE(ParseMaxModelLen("-2").ok());
}

}  // namespace
}  // namespace quire
