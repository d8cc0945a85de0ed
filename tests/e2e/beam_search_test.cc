// Beam search over a tiny model, against the same search done on whole-sequence logits.
#include "engine/beam_search.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "invariance.h"
#include "tiny_model.h"

namespace quire {
namespace {

std::unique_ptr<Llm> TinyLlm() {
  const std::string folder = testing::TempDir() + "quire_tiny_beams";
  EXPECT_TRUE(WriteTinyModel(folder).ok());
  EngineConfig config = InvarianceConfig(folder);
  config.model.compute_dtype = ComputeDtype::kFloat32;
  config.cache.enable_prefix_caching = true;
  config.scheduler.max_num_seqs = 8;
  return OpenLlm(config);
}

PromptInput Ids(std::vector<TokenId> ids) {
  PromptInput input;
  input.token_ids = std::move(ids);
  return input;
}

std::vector<double> LastLogprobs(Llm& llm, const std::vector<TokenId>& ids) {
  std::vector<double> logprobs;
  const Status status = llm.EvaluateLogits(ids, [&](std::int64_t, std::span<const float> row) {
    logprobs.assign(row.begin(), row.end());
  });
  EXPECT_TRUE(status.ok()) << status.message();
  const double largest = *std::ranges::max_element(logprobs);
  double sum = 0.0;
  for (const double logit : logprobs) sum += std::exp(logit - largest);
  for (double& logit : logprobs) logit -= largest + std::log(sum);
  return logprobs;
}

struct Reference {
  std::vector<TokenId> tokens;
  double logprob = 0.0;
};

// Beams over every token of the vocabulary, without ends.
std::vector<Reference> SearchPlainly(Llm& llm, const std::vector<TokenId>& prompt, int width,
                                     int length) {
  std::vector<Reference> beams(1);
  for (int step = 0; step < length; ++step) {
    std::vector<Reference> next;
    for (const Reference& beam : beams) {
      std::vector<TokenId> ids = prompt;
      ids.insert(ids.end(), beam.tokens.begin(), beam.tokens.end());
      const std::vector<double> logprobs = LastLogprobs(llm, ids);
      for (std::size_t token = 0; token < logprobs.size(); ++token) {
        Reference longer = beam;
        longer.tokens.push_back(static_cast<TokenId>(token));
        longer.logprob += logprobs[token];
        next.push_back(std::move(longer));
      }
    }
    std::ranges::sort(next, std::ranges::greater(), &Reference::logprob);
    next.resize(static_cast<std::size_t>(width));
    beams = std::move(next);
  }
  return beams;
}

TEST(BeamSearch, FindsWhatAPlainSearchFinds) {
  const auto llm = TinyLlm();
  const std::vector<TokenId> prompt = {9, 8, 7, 6};
  BeamSearchParams params;
  params.width = 3;
  params.max_tokens = 20;  // past a block
  params.ignore_eos = true;
  const auto answers = BeamSearch(*llm, Ids(prompt), params);
  ASSERT_TRUE(answers.ok()) << answers.status().message();
  const auto expected = SearchPlainly(*llm, prompt, 3, 20);
  ASSERT_EQ(answers->size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*answers)[i].token_ids, expected[i].tokens);
    EXPECT_NEAR((*answers)[i].cumulative_logprob, expected[i].logprob, 1e-2);
  }
  EXPECT_EQ(llm->stats().num_used_blocks, 0);
}

TEST(BeamSearch, OfWidthOneIsGreedy) {
  const auto llm = TinyLlm();
  PromptInput greedy = Ids({5, 4, 3});
  greedy.sampling.temperature = 0.0;
  greedy.sampling.max_tokens = 10;
  greedy.sampling.ignore_eos = true;
  BeamSearchParams params;
  params.width = 1;
  params.max_tokens = 10;
  params.ignore_eos = true;
  const auto answers = BeamSearch(*llm, Ids({5, 4, 3}), params);
  ASSERT_TRUE(answers.ok());
  EXPECT_EQ((*answers)[0].token_ids, llm->Generate({greedy}, {})[0].outputs[0].token_ids);
}

TEST(BeamSearch, StopsAtTheEndOfTheContext) {
  const auto llm = TinyLlm();
  BeamSearchParams params;
  params.width = 2;
  params.max_tokens = 50;
  params.ignore_eos = true;
  const auto answers = BeamSearch(*llm, Ids(std::vector<TokenId>(kTinyContext - 3, 7)), params);
  ASSERT_TRUE(answers.ok()) << answers.status().message();
  ASSERT_FALSE(answers->empty());
  EXPECT_EQ((*answers)[0].token_ids.size(), 3U);
}

TEST(BeamSearch, NamesTheParameterThatIsOutOfRange) {
  const auto llm = TinyLlm();
  BeamSearchParams params;
  params.width = 0;
  EXPECT_EQ(BeamSearch(*llm, Ids({1}), params).status().code(), Code::kInvalidArgument);
  params.width = 11;  // 22 logprobs, 20 are allowed
  EXPECT_NE(BeamSearch(*llm, Ids({1}), params).status().message().find("logprobs"),
            std::string::npos);
  params.width = 2;
  EXPECT_EQ(BeamSearch(*llm, Ids({}), params).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace quire
