// What the sampler's tests share: a table, rows of logits, and the slow, obvious sampler that the
// fast one is held against.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "sample/sampler.h"

namespace quire {

inline constexpr float kMaskedLogit = -std::numeric_limits<float>::infinity();

inline const kernels::CpuTable& TestTable() {
  static const kernels::CpuTable kTable = kernels::MakeTable(*kernels::ChooseIsa());
  return kTable;
}

// A sequence of reproducible draws.
class TestRandom {
 public:
  explicit TestRandom(std::uint64_t seed) : seed_(seed) {}
  double Uniform() { return UniformDraw(seed_, next_++, 9); }
  int Below(int count) { return static_cast<int>(Uniform() * count); }
  template <typename T>
  T OneOf(std::initializer_list<T> values) {
    return values.begin()[Below(static_cast<int>(values.size()))];
  }

 private:
  std::uint64_t seed_;
  std::uint64_t next_ = 0;
};

// Roughly normal logits.
inline std::vector<float> RandomLogits(TestRandom& random, int vocab_size, double scale) {
  std::vector<float> logits;
  for (int i = 0; i < vocab_size; ++i) {
    const double sum = random.Uniform() + random.Uniform() + random.Uniform() + random.Uniform();
    logits.push_back(static_cast<float>((sum - 2.0) * scale));
  }
  return logits;
}

// The edits in f32, as they are specified, each in its simplest form.
inline std::vector<float> ReferenceEdits(const SamplingRow& row, std::vector<float> logits) {
  const SamplingParams& params = *row.params;
  const auto at = [&](TokenId token) -> float& { return logits[static_cast<std::size_t>(token)]; };
  if (params.allowed_token_ids) {
    const std::set<TokenId> allowed(params.allowed_token_ids->begin(),
                                    params.allowed_token_ids->end());
    for (TokenId id = 0; id < static_cast<TokenId>(logits.size()); ++id) {
      if (!allowed.contains(id)) at(id) = kMaskedLogit;
    }
  }
  for (const std::vector<TokenId>& word : params.bad_words_ids) {
    std::vector<TokenId> text(row.output.begin(), row.output.end());
    text.push_back(word.back());
    if (text.size() < word.size()) continue;
    const std::vector<TokenId> end(text.end() - static_cast<std::ptrdiff_t>(word.size()),
                                   text.end());
    if (end == word) at(word.back()) = kMaskedLogit;
  }
  if (static_cast<int>(row.output.size()) < params.min_tokens) {
    for (const TokenId id : row.eos_token_ids) at(id) = kMaskedLogit;
    for (const TokenId id : params.stop_token_ids) at(id) = kMaskedLogit;
  }
  for (const auto& [id, bias] : params.logit_bias) at(id) += bias;
  std::map<TokenId, int> in_output;
  for (const TokenId id : row.output) ++in_output[id];
  std::set<TokenId> anywhere(row.prompt.begin(), row.prompt.end());
  anywhere.insert(row.output.begin(), row.output.end());
  const auto repetition = static_cast<float>(params.repetition_penalty);
  for (const TokenId id : anywhere) at(id) = at(id) > 0 ? at(id) / repetition : at(id) * repetition;
  for (const auto& [id, count] : in_output) {
    at(id) -= static_cast<float>(params.frequency_penalty) * static_cast<float>(count);
  }
  for (const auto& [id, count] : in_output) at(id) -= static_cast<float>(params.presence_penalty);
  return logits;
}

// Sets what is not among the first of `order` whose probabilities reach `share` to 0, and makes
// the rest sum to 1.
inline void ReferenceKeepUntil(const std::vector<std::size_t>& order, double share,
                               std::vector<double>& probs) {
  double before = 0.0;
  for (const std::size_t id : order) {
    const double probability = probs[id];
    if (before >= share) probs[id] = 0.0;
    before += probability;
  }
}

inline void ReferenceNormalize(std::vector<double>& probs) {
  const double total = std::accumulate(probs.begin(), probs.end(), 0.0);
  for (double& probability : probs) probability /= total;
}

// Ids by a key, the lowest key first, lower ids first among equals.
template <typename Key>
std::vector<std::size_t> ReferenceOrder(std::size_t count, Key key) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return order;
}

// The distribution that a token is drawn from, by token, from edited logits; in f64, with sorts.
inline std::vector<double> ReferenceDistribution(const SamplingParams& params,
                                                 const std::vector<float>& logits) {
  const std::size_t size = logits.size();
  const double max = *std::max_element(logits.begin(), logits.end());
  std::vector<double> probs;
  probs.reserve(size);
  for (const float logit : logits) probs.push_back(std::exp((logit - max) / params.temperature));
  ReferenceNormalize(probs);
  const double best = *std::max_element(probs.begin(), probs.end());
  for (double& probability : probs) {
    if (probability < params.min_p * best) probability = 0.0;
  }
  ReferenceNormalize(probs);
  const auto by_logit = ReferenceOrder(size, [&](std::size_t id) { return -logits[id]; });
  if (params.top_k > 0 && static_cast<std::size_t>(params.top_k) < size) {
    const float kth = logits[by_logit[static_cast<std::size_t>(params.top_k) - 1]];
    for (std::size_t id = 0; id < size; ++id) {
      if (logits[id] < kth) probs[id] = 0.0;
    }
  }
  ReferenceNormalize(probs);
  if (params.top_p < 1.0) ReferenceKeepUntil(by_logit, params.top_p, probs);
  ReferenceNormalize(probs);
  if (params.typical_p < 1.0) {
    double entropy = 0.0;
    for (const double p : probs) entropy -= p > 0.0 ? p * std::log(p) : 0.0;
    const auto by_distance = ReferenceOrder(size, [&](std::size_t id) {
      if (probs[id] == 0.0) return std::numeric_limits<double>::infinity();
      return std::abs(-std::log(probs[id]) - entropy);
    });
    ReferenceKeepUntil(by_distance, params.typical_p, probs);
  }
  ReferenceNormalize(probs);
  return probs;
}

// Whether `uniform` picks `token` from the distribution, to the precision of f32.
inline testing::AssertionResult IsPickedBy(double uniform, TokenId token,
                                           const std::vector<double>& probs) {
  constexpr double kTolerance = 1e-5;
  const auto index = static_cast<std::ptrdiff_t>(token);
  if (probs[static_cast<std::size_t>(token)] <= 0.0) {
    return testing::AssertionFailure() << "token " << token << " is cut off";
  }
  const double before = std::accumulate(probs.begin(), probs.begin() + index, 0.0);
  const double after = before + probs[static_cast<std::size_t>(token)];
  if (uniform >= before - kTolerance && uniform <= after + kTolerance) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure()
         << uniform << " is not in [" << before << ", " << after << ") of token " << token;
}

}  // namespace quire
