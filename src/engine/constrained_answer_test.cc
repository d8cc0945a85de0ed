#include "engine/constrained_answer.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "engine/testing.h"
#include "structured/compile.h"

namespace quire {
namespace {

constexpr std::int64_t kVocab = 320;

// One answer to a regular expression, after reasoning between <think> and </think>, whose tokens
// are all their prefixes and bytes.
class Reasoning : public ::testing::Test {
 protected:
  std::unique_ptr<ConstrainedAnswer> Answer(std::string regex, ReasoningStage stage) {
    StructuredOutputParams params;
    params.kind = ConstraintKind::kRegex;
    params.text = std::move(regex);
    params.reasoning = ReasoningMarkers{.begin = "<think>", .end = "</think>"};
    const auto made = CompileConstraint(*backend_, params, {});
    EXPECT_TRUE(made.ok()) << made.status().message();
    EngineRequest request;
    request.grammar = made->grammar;
    request.reasoning = stage;
    request.sampling.structured_outputs =
        std::make_shared<const StructuredOutputParams>(std::move(params));
    return std::make_unique<ConstrainedAnswer>(request, texts_);
  }

  // Byte by byte, each looked up in the mask first.
  static bool AcceptBytes(ConstrainedAnswer& answer, std::string_view text) {
    for (const char c : text) {
      if (!AcceptToken(answer, static_cast<unsigned char>(c))) return false;
    }
    return true;
  }
  static bool AcceptToken(ConstrainedAnswer& answer, TokenId token) {
    std::vector<std::uint32_t> mask(kVocab / 32);
    answer.Fill(mask);
    const bool is_allowed = (mask[static_cast<std::size_t>(token) / 32] >> (token % 32) & 1) != 0;
    return is_allowed && answer.Accept(token);
  }
  TokenId TokenOf(std::string_view text) const {
    const auto ids = *tokenizer_->Encode(text, {.add_special_tokens = false});
    EXPECT_EQ(ids.size(), 1U) << text;
    return ids[0];
  }

  const std::shared_ptr<const Tokenizer> tokenizer_ =
      MakeTestTokenizer({"<think>", "</think>", "</think>\n", "</think>yes"});
  const std::shared_ptr<const GrammarBackend> backend_ =
      *CreateXgrammarBackend(MakeConstraintVocabulary(*tokenizer_, kVocab, {kTestEos}));
  TokenTexts texts_{kVocab, {kTestEos}, [this](TokenId id) { return tokenizer_->TokenBytes(id); }};
};

TEST_F(Reasoning, TheConstraintHoldsAtOnceWhereReasoningIsOver) {
  const auto answer = Answer("yes|no", ReasoningStage::kOver);
  EXPECT_FALSE(AcceptBytes(*answer, "<"));
  EXPECT_TRUE(AcceptBytes(*answer, "yes"));
  EXPECT_TRUE(AcceptToken(*answer, kTestEos));
}

TEST_F(Reasoning, InsideAnythingButTheEndOfTheAnswerMayStand) {
  const auto answer = Answer("yes|no", ReasoningStage::kInside);
  EXPECT_TRUE(AcceptBytes(*answer, "maybe </thin> <think> no"));
  EXPECT_FALSE(AcceptToken(*answer, kTestEos));
  EXPECT_FALSE(answer->is_past_reasoning());
  EXPECT_TRUE(AcceptBytes(*answer, "</think>"));
  EXPECT_TRUE(answer->is_past_reasoning());
  EXPECT_FALSE(AcceptBytes(*answer, "m"));
  EXPECT_TRUE(AcceptBytes(*answer, "no"));
}

TEST_F(Reasoning, TheEndMarkerMayBeOneTokenOrPartOfOne) {
  for (const char* marker : {"</think>", "</think>\n"}) {
    const auto answer = Answer("yes|no", ReasoningStage::kInside);
    EXPECT_TRUE(AcceptToken(*answer, TokenOf(marker)));
    EXPECT_TRUE(AcceptBytes(*answer, "no"));
  }
  const auto answer = Answer("yes|no", ReasoningStage::kInside);
  EXPECT_TRUE(AcceptToken(*answer, TokenOf("</think>yes")));
  EXPECT_TRUE(answer->matcher().is_complete());
  EXPECT_FALSE(Answer("no", ReasoningStage::kInside)->Accept(TokenOf("</think>yes")));
}

TEST_F(Reasoning, WhereItMayBeginTheAnswerIsReasoningOrTheConstraint) {
  const auto at_once = Answer("yes|no", ReasoningStage::kMayBegin);
  EXPECT_TRUE(AcceptBytes(*at_once, "yes"));
  EXPECT_TRUE(AcceptToken(*at_once, kTestEos));

  const auto by_bytes = Answer("yes|no", ReasoningStage::kMayBegin);
  EXPECT_FALSE(AcceptBytes(*by_bytes, "m"));
  EXPECT_TRUE(AcceptBytes(*by_bytes, "<think>m</think>no"));

  const auto by_token = Answer("yes|no", ReasoningStage::kMayBegin);
  EXPECT_TRUE(AcceptToken(*by_token, TokenOf("<think>")));
  EXPECT_TRUE(AcceptBytes(*by_token, "m</think>"));
  EXPECT_FALSE(AcceptBytes(*by_token, "<think>"));
}

TEST_F(Reasoning, ABeginMarkerThatIsNoneAfterAllBelongsToTheConstraint) {
  const auto answer = Answer("<th(e|is)>", ReasoningStage::kMayBegin);
  EXPECT_TRUE(AcceptBytes(*answer, "<thi"));
  const ConstrainedAnswer copy = answer->CopyInReasoning();
  EXPECT_FALSE(copy.is_past_reasoning());
  EXPECT_TRUE(AcceptBytes(*answer, "s>"));
  EXPECT_TRUE(answer->matcher().is_complete());

  ConstrainedAnswer other = copy.CopyInReasoning();
  EXPECT_TRUE(AcceptBytes(other, "nk> </think><the>"));
  EXPECT_TRUE(other.matcher().is_complete());
}

}  // namespace
}  // namespace quire
