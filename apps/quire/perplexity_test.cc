#include "apps/quire/perplexity.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace quire {
namespace {

TEST(NegativeLogLikelihood, IsThatOfTheSoftmax) {
  const std::vector<float> logits = {1.0F, 2.0F, 4.0F};
  const double sum = std::exp(1.0) + std::exp(2.0) + std::exp(4.0);
  EXPECT_NEAR(NegativeLogLikelihood(logits, 1), std::log(sum) - 2.0, 1e-6);
}

TEST(NegativeLogLikelihood, DoesNotOverflow) {
  const std::vector<float> logits = {3000.0F, -3000.0F};
  EXPECT_NEAR(NegativeLogLikelihood(logits, 0), 0.0, 1e-9);
  EXPECT_NEAR(NegativeLogLikelihood(logits, 1), 6000.0, 1e-6);
}

TEST(PerplexitySum, IsExpOfTheMeanWithItsError) {
  PerplexitySum sum;
  for (const double nll : {1.0, 2.0, 3.0, 4.0}) sum.Add(nll);
  EXPECT_EQ(sum.count(), 4);
  EXPECT_NEAR(sum.perplexity(), std::exp(2.5), 1e-12);
  EXPECT_NEAR(sum.error(), std::exp(2.5) * std::sqrt(1.25 / 3.0), 1e-12);
}

TEST(PerplexitySum, OfNothingIsOne) {
  EXPECT_EQ(PerplexitySum().perplexity(), 1.0);
  EXPECT_EQ(PerplexitySum().error(), 0.0);
}

}  // namespace
}  // namespace quire
