#include "sample/logit_edits.h"

#include <gtest/gtest.h>

#include "sample/testing.h"

namespace quire {
namespace {

constexpr float kM = kMaskedLogit;

// Eight logits, a request, and what is left of them after the edits.
class LogitEdits : public testing::Test {
 protected:
  std::vector<float> Edited(std::vector<float> logits) {
    const SamplingRow row = {.params = &params_,
                             .prompt = prompt_,
                             .output = output_,
                             .eos_token_ids = eos_,
                             .forced_token = forced_};
    EditLogits(row, logits, scratch_);
    EXPECT_TRUE(scratch_.seen.empty());
    EXPECT_EQ(scratch_.counts, std::vector<std::int32_t>(8)) << "the counts are left clean";
    return logits;
  }

  SamplingParams params_;
  std::vector<TokenId> prompt_;
  std::vector<TokenId> output_;
  std::vector<TokenId> eos_;
  TokenId forced_ = -1;
  EditScratch scratch_ = EditScratch(8);
};

TEST_F(LogitEdits, DefaultsChangeNothing) {
  prompt_ = {0, 1};
  output_ = {2};
  eos_ = {3};
  EXPECT_EQ(Edited({1, 2, 3, 4, 5, 6, 7, 8}), (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST_F(LogitEdits, OnlyAllowedTokensKeepTheirLogits) {
  params_.allowed_token_ids = std::vector<TokenId>{6, 0, 6};
  EXPECT_EQ(Edited({1, 2, 3, 4, 5, 6, 7, 8}), (std::vector<float>{1, kM, kM, kM, kM, kM, 7, kM}));
}

TEST_F(LogitEdits, AForcedTokenIsLeftWhateverElseIsSaidOfIt) {
  params_.allowed_token_ids = std::vector<TokenId>{6};
  params_.bad_words_ids = {{3}};
  params_.logit_bias = {{3, -100.0F}};
  forced_ = 3;
  EXPECT_EQ(Edited({1, 2, 3, kM, 5, 6, 7, 8}), (std::vector<float>{kM, kM, kM, 0, kM, kM, kM, kM}));
}

TEST_F(LogitEdits, TheLastTokenOfABadWordIsMaskedAfterTheOthers) {
  params_.bad_words_ids = {{4}, {1, 2, 3}, {2, 5}, {1, 6}, {0, 1, 2, 7}};
  output_ = {1, 2};
  EXPECT_EQ(Edited({1, 1, 1, 1, 1, 1, 1, 1}), (std::vector<float>{1, 1, 1, kM, kM, kM, 1, 1}));
}

TEST_F(LogitEdits, BadWordsLookAtTheOutputOnly) {
  params_.bad_words_ids = {{1, 2}};
  prompt_ = {1};
  EXPECT_EQ(Edited({1, 1, 1, 1, 1, 1, 1, 1})[2], 1.0F);
}

TEST_F(LogitEdits, StopTokensAreMaskedUntilMinTokens) {
  params_.min_tokens = 2;
  params_.stop_token_ids = {3};
  params_.ignore_eos = true;
  eos_ = {5};
  output_ = {0};
  EXPECT_EQ(Edited({1, 1, 1, 1, 1, 1, 1, 1}), (std::vector<float>{1, 1, 1, kM, 1, kM, 1, 1}));
  output_ = {0, 0};
  EXPECT_EQ(Edited({1, 1, 1, 1, 1, 1, 1, 1}), (std::vector<float>{1, 1, 1, 1, 1, 1, 1, 1}));
}

TEST_F(LogitEdits, BiasesAreAddedAndFreeNoMaskedToken) {
  params_.logit_bias = {{1, 2.5F}, {2, -100.0F}, {3, 100.0F}};
  params_.allowed_token_ids = std::vector<TokenId>{1, 2};
  EXPECT_EQ(Edited({0, 1, 2, 3, 4, 5, 6, 7}),
            (std::vector<float>{kM, 3.5F, -98.0F, kM, kM, kM, kM, kM}));
}

TEST_F(LogitEdits, TheRepetitionPenaltyTakesPromptAndOutputOnce) {
  params_.repetition_penalty = 2.0;
  prompt_ = {0, 1, 0};
  output_ = {1, 2, 2};
  EXPECT_EQ(Edited({4, -4, 0, 4, 0, 0, 0, 0}), (std::vector<float>{2, -8, 0, 4, 0, 0, 0, 0}));
}

TEST_F(LogitEdits, FrequencyAndPresencePenaltiesTakeTheOutputOnly) {
  params_.frequency_penalty = 0.5;
  params_.presence_penalty = -0.25;
  prompt_ = {0, 0};
  output_ = {1, 2, 2, 2};
  EXPECT_EQ(Edited({1, 1, 1, 1, 0, 0, 0, 0}),
            (std::vector<float>{1, 0.75F, -0.25F, 1, 0, 0, 0, 0}));
}

TEST_F(LogitEdits, BiasesComeBeforePenalties) {
  params_.logit_bias = {{0, 6.0F}};
  params_.repetition_penalty = 2.0;
  prompt_ = {0};
  EXPECT_EQ(Edited({-2, 0, 0, 0, 0, 0, 0, 0})[0], 2.0F);
}

TEST_F(LogitEdits, ExtremePenaltiesStayFiniteAndUnmaskNothing) {
  params_.repetition_penalty = 1e-30;
  output_ = {0, 1, 2};
  const std::vector<float> small = Edited({1e30F, -1e30F, kM, 0, 0, 0, 0, 0});
  EXPECT_EQ(small[0], std::numeric_limits<float>::max());
  EXPECT_EQ(small[1], -1e30F * 1e-30F);
  EXPECT_EQ(small[2], kM);
  params_.repetition_penalty = 1e30;
  EXPECT_EQ(Edited({1, -1e30F, 0, 0, 0, 0, 0, 0})[1], -std::numeric_limits<float>::max());
}

TEST_F(LogitEdits, TokensOutsideTheVocabularyArePassedOver) {
  params_.allowed_token_ids = std::vector<TokenId>{0, 1, 8, -1};
  params_.bad_words_ids = {{8}, {-1}, {}};
  params_.stop_token_ids = {1 << 30};
  params_.logit_bias = {{-5, 1.0F}, {8, 1.0F}};
  params_.repetition_penalty = 2.0;
  params_.min_tokens = 9;
  prompt_ = {-1, 8, 1 << 30};
  output_ = {-1, 8};
  EXPECT_EQ(Edited({1, 2, 3, 4, 5, 6, 7, 8}), (std::vector<float>{1, 2, kM, kM, kM, kM, kM, kM}));
}

TEST(GrammarMask, KeepsTheTokensWhoseBitIsSet) {
  std::vector<float> logits(70, 1.0F);
  const std::vector<std::uint32_t> mask = {~std::uint32_t{0}, 0x80000001U, 0xFFFFFFFEU};
  MaskByGrammar(mask, logits);
  for (int id = 0; id < 70; ++id) {
    const bool is_kept = id < 32 || id == 32 || id == 63 || id > 64;
    EXPECT_EQ(logits[static_cast<std::size_t>(id)], is_kept ? 1.0F : kM) << id;
  }
}

TEST(GrammarMask, AnEmptyOneKeepsAllAndAShortOneOnlyWhatItNames) {
  std::vector<float> logits(40, 1.0F);
  MaskByGrammar({}, logits);
  EXPECT_EQ(logits, std::vector<float>(40, 1.0F));
  const std::vector<std::uint32_t> mask = {~std::uint32_t{0}};
  MaskByGrammar(mask, logits);
  EXPECT_EQ(logits[31], 1.0F);
  EXPECT_EQ(logits[32], kM);
  EXPECT_EQ(logits[39], kM);
}

}  // namespace
}  // namespace quire
