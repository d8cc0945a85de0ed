#include "sample/logprobs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ops/vocab.h"

namespace quire {

namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();

// How many logits are at least the token's: its 1-based rank, the last one among equals.
int RankOf(std::span<const float> logits, float logit) {
  int count = 0;
  for (const float other : logits) count += static_cast<int>(other >= logit);
  return count;
}

void Append(std::span<const float> logits, float log_sum, TokenId token,
            std::vector<TokenLogprob>& entries) {
  if (token < 0 || static_cast<std::size_t>(token) >= logits.size()) return;
  const float logit = logits[static_cast<std::size_t>(token)];
  entries.push_back({token, logit - log_sum, RankOf(logits, logit)});
}

// The `count` best that are not masked, in falling order, lower ids first among equals. While it
// runs, `logprob` holds the logit and the entries are a heap with the worst in front.
void AppendBest(std::span<const float> logits, float log_sum, std::size_t count,
                std::vector<TokenLogprob>& entries) {
  if (count == 0) return;
  const auto is_better = [](const TokenLogprob& a, const TokenLogprob& b) {
    return a.logprob > b.logprob || (a.logprob == b.logprob && a.token < b.token);
  };
  const auto first = static_cast<std::ptrdiff_t>(entries.size());
  const std::size_t full = entries.size() + count;
  float bound = kMasked;  // what a further one must exceed; equals that come later are worse
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] > bound)) continue;
    if (entries.size() == full) {
      std::pop_heap(entries.begin() + first, entries.end(), is_better);
      entries.pop_back();
    }
    entries.push_back({static_cast<TokenId>(i), logits[i], 0});
    std::push_heap(entries.begin() + first, entries.end(), is_better);
    if (entries.size() == full) bound = entries[static_cast<std::size_t>(first)].logprob;
  }
  std::sort_heap(entries.begin() + first, entries.end(), is_better);
  int rank = 0;
  for (auto entry = entries.begin() + first; entry != entries.end(); ++entry) {
    entry->logprob -= log_sum;
    entry->rank = ++rank;
  }
}

// Every token by id, with its place in the falling order.
void AppendAll(std::span<const float> logits, float log_sum, std::vector<TokenLogprob>& entries) {
  std::vector<TokenId> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](TokenId a, TokenId b) {
    const float logit_a = logits[static_cast<std::size_t>(a)];
    const float logit_b = logits[static_cast<std::size_t>(b)];
    return logit_a > logit_b || (logit_a == logit_b && a < b);
  });
  const std::size_t first = entries.size();
  entries.resize(first + logits.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const auto index = static_cast<std::size_t>(order[rank]);
    entries[first + index] = {order[rank], logits[index] - log_sum, static_cast<int>(rank) + 1};
  }
}

}  // namespace

void FillLogprobs(std::span<const float> logits, float log_sum, TokenId token, int count,
                  std::span<const TokenId> extra, PositionLogprobs& out) {
  out.entries.clear();
  Append(logits, log_sum, token, out.entries);
  if (count == kAllLogprobs) {
    AppendAll(logits, log_sum, out.entries);
  } else {
    AppendBest(logits, log_sum, static_cast<std::size_t>(std::max(count, 0)), out.entries);
  }
  for (const TokenId id : extra) Append(logits, log_sum, id, out.entries);
}

PositionLogprobs LogprobsOf(const kernels::CpuTable& table, std::span<const float> logits,
                            TokenId token, int count, std::span<const TokenId> extra) {
  PositionLogprobs position;
  FillLogprobs(logits, ops::LogSumExp(table, logits), token, count, extra, position);
  return position;
}

}  // namespace quire
