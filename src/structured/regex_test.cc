#include "structured/regex.h"

#include <string>

#include <gtest/gtest.h>

#include "structured/automaton.h"
#include "structured/string_set.h"

namespace quire::structured {
namespace {

bool Matches(std::string_view pattern, std::string_view text) {
  const auto regex = ParseRegex(pattern);
  EXPECT_TRUE(regex.ok()) << pattern << ": " << regex.status().message();
  const auto dfa = Dfa::From(*regex);
  EXPECT_TRUE(dfa.ok()) << pattern;
  return dfa->Accepts(text);
}

TEST(Regex, WhatIsNoRegularExpressionIsRefusedWithTheByte) {
  for (const char* bad :
       {"(", "a)", "a**", "+a", "[z-a]", "[a", "a{3,1}", "\\", "\\q", "(?P<n", "\\x4"}) {
    const auto regex = ParseRegex(bad);
    EXPECT_EQ(regex.status().code(), Code::kInvalidArgument) << bad;
    EXPECT_NE(regex.status().message().find("byte"), std::string::npos) << bad;
  }
}

TEST(Regex, WhatNoAutomatonCanDoIsUnsupported) {
  for (const char* bad : {"(?=a)b", "(?<!a)b", "(a)\\1", "\\bword", "a++", "(?>a)", "[]"}) {
    const auto regex = ParseRegex(bad);
    EXPECT_EQ(regex.status().code(), Code::kUnimplemented) << bad;
    EXPECT_NE(regex.status().message().find("unsupported"), std::string::npos) << bad;
  }
}

TEST(Regex, LargeOnesAreRefusedInsteadOfFillingMemory) {
  EXPECT_EQ(ParseRegex(std::string(100'000, 'a')).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(ParseRegex(std::string(2000, '(') + std::string(2000, ')')).status().code(),
            Code::kResourceExhausted);
  EXPECT_EQ(ParseRegex("a{999999999}").status().code(), Code::kResourceExhausted);
  EXPECT_EQ(Dfa::From(*ParseRegex("((a{1,100}){1,100}){1,100}")).status().code(),
            Code::kResourceExhausted);
  EXPECT_EQ(Dfa::From(*ParseRegex("(a|b)*a(a|b){14}")).status().code(), Code::kResourceExhausted);
}

TEST(Regex, LazyAndNamedGroupsMatchAsTheirGreedyForms) {
  EXPECT_TRUE(Matches("(?P<x>a+?)(?:b|)", "aab"));
  EXPECT_TRUE(Matches("(?<x>a*?)b", "b"));
  EXPECT_FALSE(Matches("(?<x>a*?)b", "ba"));
}

TEST(Regex, AnchorsHoldWhereTheyStand) {
  EXPECT_TRUE(Matches("^a$", "a"));
  EXPECT_TRUE(Matches("(^a|b)$", "b"));
  EXPECT_FALSE(Matches("a^b", "ab"));
  EXPECT_FALSE(Matches("a$b", "ab"));
}

TEST(Regex, APatternIsSearchedForUnlessItIsAnchored) {
  EXPECT_TRUE(StringsWith("b+", {})->Accepts("abba"));
  EXPECT_FALSE(StringsWith("^b+", {})->Accepts("abba"));
  EXPECT_TRUE(StringsWith("a$|^b", {})->Accepts("bb"));
}

TEST(Automaton, AndAndNotAreExact) {
  const Dfa vowels = *Dfa::From(*ParseRegex("[aeiou]*"));
  const Dfa three = *Dfa::OfLength(3, 3);
  const Dfa both = *vowels.And(three);
  EXPECT_TRUE(both.Accepts("aei"));
  EXPECT_FALSE(both.Accepts("ae"));
  EXPECT_FALSE(both.Accepts("abc"));
  const Dfa rest = *three.AndNot(vowels);
  EXPECT_TRUE(rest.Accepts("abc"));
  EXPECT_FALSE(rest.Accepts("aei"));
  EXPECT_TRUE(vowels.AndNot(vowels)->is_empty());
  EXPECT_TRUE(Dfa::AllTexts().Not()->is_empty());
}

TEST(Automaton, MinimizingMergesWhatIsAlike) {
  EXPECT_EQ(Dfa::From(*ParseRegex("(a|b)(c|d)|(b|a)(d|c)"))->states().size(), 3U);
  EXPECT_EQ(Dfa::From(*ParseRegex("(a*)*"))->states().size(), 1U);
}

TEST(Automaton, NegatedClassesSpanAllOfUnicodeWithoutSurrogates) {
  EXPECT_TRUE(Matches("[^a]", "\xF0\x9F\x98\x80"));
  EXPECT_FALSE(Matches("[^a]", "a"));
  const CharSet rest = ~CharSet(U'a');
  for (const CharRange& range : rest.ranges()) {
    EXPECT_FALSE(range.first <= 0xD800 && range.last >= 0xDFFF);
  }
}

}  // namespace
}  // namespace quire::structured
