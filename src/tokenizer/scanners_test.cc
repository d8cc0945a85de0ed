#include "tokenizer/scanners.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "tokenizer/pattern.h"
#include "tokenizer/regex_syntax.h"
#include "tokenizer/utf8.h"

namespace quire {
namespace {

std::string RandomText(std::mt19937& random) {
  static constexpr char32_t kCommon[] = {
      ' ',   ' ',   '\n',   '\r',  '\t',  '\'',    's',    'S',    't',    'l',   'L',
      'd',   'r',   'e',    'v',   'm',   'a',     'A',    'z',    '1',    '2',   '/',
      '.',   '!',   '_',    0x17F, 0x301, 0xE9,    0x4E00, 0x3042, 0x30A2, 0x5D0, 0x661,
      0x2B0, 0x1C5, 0x2003, 0x85,  0xA0,  0x1F600, 0x200D, 0x20AC, 0x93F};
  std::uniform_int_distribution<std::size_t> pick(0, std::size(kCommon) - 1);
  std::uniform_int_distribution<int> length(0, 24);
  std::uniform_int_distribution<char32_t> any(0, 0x1FFFF);
  std::string text;
  for (int i = length(random); i > 0; --i) {
    char32_t code = kCommon[pick(random)];
    if (random() % 16 == 0) code = any(random);
    if (code >= 0xD800 && code < 0xE000) code = 'x';
    AppendUtf8(text, code);
  }
  return text;
}

std::string Show(const std::vector<TextRange>& ranges, std::string_view text) {
  std::string out;
  for (const TextRange& range : ranges) {
    out += StrCat("[", Printable(text.substr(range.begin, range.end - range.begin)), "]");
  }
  return out;
}

TEST(Scanners, SplitAsTheirRegularExpressionsDo) {
  std::size_t count = 0;
  const NamedScanner* scanners = AllScanners(&count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto scanner = MakeRegexPattern(scanners[i].source);
    const auto regex = MakePcrePattern(scanners[i].source);
    ASSERT_TRUE(scanner.ok() && regex.ok()) << scanners[i].name;
    EXPECT_EQ((*scanner)->name(), scanners[i].name);
    std::mt19937 random(7);
    for (int round = 0; round < 3000; ++round) {
      const std::string text = RandomText(random);
      std::vector<TextRange> by_hand, by_regex;
      ASSERT_TRUE((*scanner)->FindAll(text, by_hand).ok());
      ASSERT_TRUE((*regex)->FindAll(text, by_regex).ok());
      ASSERT_EQ(Show(by_hand, text), Show(by_regex, text))
          << scanners[i].name << " on " << Printable(text, 200);
    }
  }
}

TEST(RegexSyntax, RunawayPatternsFailInsteadOfHanging) {
  const auto pattern = MakePcrePattern("(a+)+[bc]");
  ASSERT_TRUE(pattern.ok());
  std::vector<TextRange> found;
  const Status status = (*pattern)->FindAll(std::string(5000, 'a'), found);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
}

TEST(RegexSyntax, BrokenPatternsAreRefused) {
  for (const std::string_view source : {"(", "[a", "\\p{Nonsense}", "a\\", "[a&&[b]", "\\u12"}) {
    EXPECT_FALSE(MakePcrePattern(source).ok()) << source;
  }
  EXPECT_FALSE(TranslateRegex(std::string(1000, '[')).ok());
}

std::string Matches(std::string_view source, std::string_view text) {
  const auto pattern = MakePcrePattern(source);
  if (!pattern.ok()) return pattern.status().message();
  std::vector<TextRange> found;
  if (!(*pattern)->FindAll(text, found).ok()) return "fails";
  return Show(found, text);
}

TEST(RegexSyntax, SetsIntersectAndNest) {
  EXPECT_EQ(Matches("[a-z&&[^aeiou]]+", "hello"), "[h][ll]");
  EXPECT_EQ(Matches("[^a[bc]]+", "abcd"), "[d]");
  EXPECT_EQ(Matches("[\\w&&[^\\d_]]+", "ab_12c"), "[ab][c]");
}

TEST(RegexSyntax, APlusBehindAnIntervalRepeatsIt) {
  EXPECT_EQ(Matches("[0-9]{1,3}+", "12345"), "[12345]");
  EXPECT_EQ(Matches("[0-9]{2}?", "123"), "[12][]");
}

TEST(RegexSyntax, LineAnchorsMatchAtEveryLine) {
  EXPECT_EQ(Matches("^\\w", "ab\ncd"), "[a][c]");
  EXPECT_EQ(Matches("\\s+$", "a \nb "), "[ ][ ]");
}

}  // namespace
}  // namespace quire
