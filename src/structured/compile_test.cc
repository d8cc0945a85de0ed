#include "structured/compile.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "structured/constraint.h"
#include "structured/work_budget.h"

namespace quire {
namespace {

constexpr TokenId kEnd = 256;

StructuredOutputParams Of(ConstraintKind kind, std::string text) {
  StructuredOutputParams params;
  params.kind = kind;
  params.text = std::move(text);
  return params;
}

// Ids 0 to 255 are the bytes.
std::shared_ptr<const GrammarBackend> BytesBackend(const MatcherLimits& limits = {}) {
  ConstraintVocabulary vocab;
  for (int byte = 0; byte < 256; ++byte) vocab.bytes.emplace_back(1, static_cast<char>(byte));
  vocab.bytes.emplace_back();
  vocab.end_ids = {kEnd};
  return *CreateXgrammarBackend(vocab, limits);
}

StructuredOutputParams Slow() {
  StructuredOutputParams params = Of(ConstraintKind::kChoice, "");
  for (int i = 0; i < 60'000; ++i) params.choices.push_back("choice-" + std::to_string(i * 7919));
  return params;
}

TEST(Compile, WhatTakesTooLongIsBrokenOffAndNamesTheFlag) {
  const auto backend = BytesBackend();
  const auto made = CompileConstraint(*backend, Slow(), {.time = std::chrono::nanoseconds(1)});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), Code::kInvalidArgument);
  EXPECT_NE(made.status().message().find("--grammar-compile-timeout"), std::string::npos)
      << made.status().message();
}

TEST(Compile, WhereverTheWorkIsBrokenOffOthersAreServed) {
  const auto backend = BytesBackend();
  for (const std::int64_t max_bytes : {1 << 16, 1 << 20, 1 << 22, 1 << 23, 1 << 24}) {
    const auto made = CompileConstraint(*backend, Slow(), {.max_bytes = max_bytes});
    ASSERT_FALSE(made.ok()) << max_bytes;
    EXPECT_NE(made.status().message().find("MiB to compile"), std::string::npos)
        << made.status().message();
  }
  const auto made = CompileConstraint(*backend, Of(ConstraintKind::kRegex, "a|b"), {});
  ASSERT_TRUE(made.ok()) << made.status().message();
  const auto matcher = made->grammar->NewMatcher();
  EXPECT_TRUE(matcher->Accept('a'));
  EXPECT_TRUE(matcher->is_complete());
}

TEST(Compile, WhatTakesTooMuchMemoryIsBrokenOffAndTheSameLaterWithMoreIsNot) {
  const auto backend = BytesBackend();
  const StructuredOutputParams params = Of(ConstraintKind::kRegex, "[a-z]{1,40}");
  const auto refused = CompileConstraint(*backend, params, {.max_bytes = 4096});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::kInvalidArgument);
  EXPECT_NE(refused.status().message().find("MiB to compile"), std::string::npos)
      << refused.status().message();
  EXPECT_TRUE(CompileConstraint(*backend, params, {}).ok());
}

TEST(Compile, OurOwnPartEndsInTimeToo) {
  WorkBudget budget({.max_time = std::chrono::nanoseconds(1)});
  EXPECT_FALSE(WorkBudget::Check().ok() &&
               GrammarOf(Of(ConstraintKind::kJson, R"({"pattern":"(a|b)*a(a|b){9}"})")).ok());
  EXPECT_EQ(budget.spent(), WorkBudget::Bound::kTime);
}

// Each of its limits alone, reached in the first mask.
TEST(Compile, AMatcherThatNeedsTooMuchWorkSaysSoAndAllowsNothing) {
  // Rules that lead to each other and may all be empty, so that every step looks at them all; and
  // so long a text that masks are made when they are asked for.
  std::string ebnf = "root ::= r0 root | \"" + std::string(9000, 'x') + "\" | \"\"\n";
  for (int i = 0; i < 60; ++i) {
    ebnf += "r" + std::to_string(i) + " ::= r" + std::to_string((i + 1) % 60) + " r" +
            std::to_string((i * 7 + 1) % 60) + " | [a-z] | \"\"\n";
  }
  const StructuredOutputParams params = Of(ConstraintKind::kGrammar, ebnf);
  const std::string text = GrammarTextOf(params)->ebnf;
  for (const MatcherLimits& limits :
       {MatcherLimits{.max_step_allocations = 1000}, MatcherLimits{.max_step_bytes = 1000},
        MatcherLimits{.most_credit = std::chrono::nanoseconds(1)},
        MatcherLimits{.max_mask_bytes = 1}}) {
    const auto backend = BytesBackend(limits);
    const auto matcher = (*backend->Compile(text))->NewMatcher();
    std::vector<std::uint32_t> mask(backend->num_mask_words());
    for (int i = 0; i < 2; ++i) {
      matcher->Fill(mask);
      EXPECT_EQ(matcher->failure().code(), Code::kResourceExhausted);
      EXPECT_EQ(mask, std::vector<std::uint32_t>(mask.size()));
    }
    EXPECT_FALSE(matcher->Accept('a'));
    EXPECT_FALSE(matcher->is_complete());
  }
  EXPECT_FALSE(CompileConstraint(*BytesBackend({.max_step_allocations = 1000}), params, {}).ok())
      << "told before it begins";
}

TEST(Compile, LongRepetitionsCountExactly) {
  const auto backend = BytesBackend();
  for (const auto& [min, max] : std::vector<std::pair<int, int>>{
           {0, 129}, {1, 500}, {130, 130}, {128, 256}, {200, 700}, {384, 384}, {300, -1}}) {
    const std::string counts =
        std::to_string(min) + "," + (max < 0 ? std::string() : std::to_string(max));
    for (const char* part : {"[ab]", "(a|b)"}) {
      const auto made = CompileConstraint(
          *backend, Of(ConstraintKind::kRegex, part + ("{" + counts + "}") + "c[^c]{0,200}"), {});
      ASSERT_TRUE(made.ok()) << made.status().message();
      for (const int count : {0,   1,   127, 128, 129, 130, 131, 199, 200, 255, 256, 257,
                              299, 300, 383, 384, 385, 499, 500, 501, 699, 700, 701}) {
        const auto matcher = made->grammar->NewMatcher();
        const std::string text = std::string(static_cast<std::size_t>(count), 'b') + "c";
        const bool is_inside = count >= min && (max < 0 || count <= max);
        EXPECT_EQ(matcher->AcceptBytes(text) && matcher->is_complete(), is_inside)
            << part << counts << ": " << count;
      }
    }
  }
}

TEST(Compile, LongRepetitionsInsideOneAnotherAreRefused) {
  EXPECT_TRUE(GrammarOf(Of(ConstraintKind::kGrammar, "root ::= (\"a\"{0,300} \"b\"){0,300}")).ok());
  EXPECT_FALSE(
      GrammarOf(Of(ConstraintKind::kGrammar, "root ::= (\"a\"{0,300} \"b\"){0,400}")).ok());
}

TEST(Compile, TheShortestTextIsTold) {
  const auto shortest = [](ConstraintKind kind, std::string text) {
    const auto made = GrammarTextOf(Of(kind, std::move(text)));
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.ok() ? made->shortest : std::string();
  };
  EXPECT_EQ(shortest(ConstraintKind::kRegex, "long|no|longer"), "no");
  EXPECT_EQ(shortest(ConstraintKind::kRegex, "(ab){3,}c?x"), "abababx");
  EXPECT_EQ(shortest(ConstraintKind::kRegex, "a*"), "");
  EXPECT_EQ(shortest(ConstraintKind::kGrammar,
                     "root ::= a \"!\"\na ::= \"(\" a \")\" | b b\nb ::= \"x\" | a\n"),
            "xx!");
  EXPECT_EQ(
      shortest(ConstraintKind::kJson,
               R"({"type":"object","properties":{"a":{"const":12},"b":{}},"required":["a"]})"),
      R"({"a":12})");
  EXPECT_EQ(shortest(ConstraintKind::kJson, R"({"enum":["abc",7,null]})"), "7");
  // What stands in a value or in a property of that name is no anchor.
  EXPECT_EQ(
      shortest(ConstraintKind::kJson, R"({"$ref":"#x","$defs":{"a":{"$anchor":"x","type":"null"},)"
                                      R"("b":{"enum":[{"$anchor":"x","type":"integer"}]},)"
                                      R"("c":{"properties":{"$anchor":{"const":5}}}}})"),
      "null");
}

}  // namespace
}  // namespace quire
