// Perplexity from negative log-likelihoods, over all of a text's windows and over their second
// halves alone.
#pragma once

#include <cstdint>
#include <span>

#include "base/id.h"

namespace quire {

// -log softmax(logits)[token], summed in double precision.
double NegativeLogLikelihood(std::span<const float> logits, TokenId token);

// A mean with its error, and what it says of a model. Plain sums, so that the order does not
// matter beyond rounding.
class PerplexitySum {
 public:
  void Add(double nll) {
    ++count_;
    sum_ += nll;
    sum_of_squares_ += nll * nll;
  }

  std::int64_t count() const { return count_; }
  double nll() const { return sum_; }
  double perplexity() const;  // exp of the mean; 1 when there is nothing
  // One standard error of the perplexity: that of the mean, carried through exp. 0 for fewer than
  // two tokens.
  double error() const;

 private:
  std::int64_t count_ = 0;
  double sum_ = 0.0;
  double sum_of_squares_ = 0.0;
};

}  // namespace quire
