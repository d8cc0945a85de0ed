#include "apps/quire/perplexity.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace quire {

double NegativeLogLikelihood(std::span<const float> logits, TokenId token) {
  const float highest = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (const float logit : logits) sum += double{std::exp(logit - highest)};
  return std::log(sum) - (double{logits[static_cast<std::size_t>(token)]} - double{highest});
}

double PerplexitySum::perplexity() const {
  return count_ == 0 ? 1.0 : std::exp(sum_ / static_cast<double>(count_));
}

double PerplexitySum::error() const {
  if (count_ < 2) return 0.0;
  const auto count = static_cast<double>(count_);
  const double mean = sum_ / count;
  const double variance = std::max(0.0, sum_of_squares_ / count - mean * mean);
  return perplexity() * std::sqrt(variance / (count - 1.0));
}

}  // namespace quire
