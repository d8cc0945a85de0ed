#include "tokenizer/unicode.h"

#include <string>

#include <gtest/gtest.h>

#include "tokenizer/graphemes.h"
#include "tokenizer/utf8.h"

namespace quire {
namespace {

using unicode::Form;
using unicode::Normalize;

std::string Utf8(std::u32string_view codes) { return FromCodePoints(codes); }

TEST(Normalization, ComposesAndDecomposes) {
  EXPECT_EQ(Normalize("e\u0301", Form::kNfc), "\u00e9");
  EXPECT_EQ(Normalize("\u00e9", Form::kNfd), "e\u0301");
  EXPECT_EQ(Normalize("\ufb01 \u00bd", Form::kNfkc), "fi 1\u20442");
  EXPECT_EQ(Normalize("\ud55c\uae00", Form::kNfc), "\ud55c\uae00");
  EXPECT_EQ(Normalize("\u1112\u1161\u11ab", Form::kNfc), "\ud55c");
  // Marks are sorted by class; blocked ones do not compose.
  EXPECT_EQ(Normalize("a\u0323\u0307", Form::kNfd), "a\u0323\u0307");
  EXPECT_EQ(Normalize("a\u0307\u0323", Form::kNfd), "a\u0323\u0307");
  EXPECT_EQ(Normalize("\u0344", Form::kNfc), "\u0308\u0301");
}

TEST(Normalization, EveryCodePointIsStableUnderItsForm) {
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    std::string text;
    AppendUtf8(text, code);
    for (const Form form : {Form::kNfc, Form::kNfd, Form::kNfkc, Form::kNfkd}) {
      if (unicode::IsSurelyNormalized(text, form)) continue;
      const std::string once = Normalize(text, form);
      ASSERT_EQ(Normalize(once, form), once) << static_cast<std::uint32_t>(code);
    }
    if ((code & 0xFF) == 0xFF && code > 0x30000) code += 0x1000;  // nothing stands there
  }
}

TEST(Normalization, OlderDataLeavesNewerCodePointsAlone) {
  EXPECT_EQ(Normalize("\u32ff", Form::kNfkc), "\u4ee4\u548c");
  EXPECT_EQ(Normalize("\u32ff", Form::kNfkc, unicode::FormVersion::kUnicode9), "\u32ff");
}

TEST(Case, MappingsMayHaveSeveralCodePoints) {
  std::string out;
  unicode::AppendLower(out, 0x130);
  EXPECT_EQ(out, "i\u0307");
  out.clear();
  unicode::AppendUpper(out, 0xDF);
  EXPECT_EQ(out, "SS");
  out.clear();
  unicode::AppendTitle(out, 0x1C6);
  EXPECT_EQ(out, "\u01c5");
}

TEST(Graphemes, MarksJoinersAndFlagsStayTogether) {
  EXPECT_EQ(FirstGrapheme("e\u0301x"), 3u);
  EXPECT_EQ(FirstGrapheme("\r\nx"), 2u);
  EXPECT_EQ(FirstGrapheme("ab"), 1u);
  const std::string family = Utf8(U"\U0001F469\u200D\U0001F4BB");
  EXPECT_EQ(FirstGrapheme(family + "x"), family.size());
  EXPECT_EQ(FirstGrapheme(Utf8(U"\U0001F1E9\U0001F1EA\U0001F1EB")), 8u);
}

TEST(Utf8, InvalidBytesBecomeOneReplacementForEachMaximalPart) {
  std::string out;
  AppendLossy(out, "a\xE2\x82z\xFF\xC0\xAF\xF0\x9F\x98");
  EXPECT_EQ(out, "a\uFFFDz\uFFFD\uFFFD\uFFFD\uFFFD");
}

}  // namespace
}  // namespace quire
