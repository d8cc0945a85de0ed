#include "sample/draw.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/vocab.h"

namespace quire {

namespace {

constexpr std::size_t kBlock = 512;  // probabilities summed at once
constexpr std::size_t kLanes = 8;

// How much further below the best token each pass over the vocabulary looks for candidates. Of a
// language model's tokens a few hundred lie within the first, and mostly all that top_k and top_p
// keep; a larger step soon takes in the bulk of the vocabulary, which costs more than the passes.
constexpr float kShareStep = 1e-3F;

bool IsBefore(const RankedCandidate& a, const RankedCandidate& b) {
  return a.key < b.key || (a.key == b.key && a.token < b.token);
}

// Σ of up to kBlock probabilities over lanes, which the compiler can keep in vector registers.
double BlockSum(std::span<const float> probs) {
  double lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= probs.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += double{probs[i + lane]};
  }
  for (std::size_t lane = 0; i < probs.size(); ++i, ++lane) lanes[lane] += double{probs[i]};
  double sum = 0.0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

// Fills `sums` with the sum of each block and returns them all together.
double SumBlocks(std::span<const float> probs, std::vector<double>& sums) {
  sums.clear();
  double total = 0.0;
  for (std::size_t start = 0; start < probs.size(); start += kBlock) {
    sums.push_back(BlockSum(probs.subspan(start, std::min(kBlock, probs.size() - start))));
    total += sums.back();
  }
  return total;
}

double SumShares(std::span<const Candidate> candidates) {
  double sum = 0.0;
  for (const Candidate& candidate : candidates) sum += double{candidate.share};
  return sum;
}

void ToProbabilities(const kernels::CpuTable& table, double temperature, float max,
                     std::span<float> logits) {
  if (temperature != 1.0) {
    // As f32 it must neither vanish nor overflow; with the best logit at 0 nothing else can.
    const auto divisor = static_cast<float>(
        std::clamp(temperature, kGreedyTemperature, double{std::numeric_limits<float>::max()}));
    for (float& logit : logits) logit = (logit - max) / divisor;
  }
  ops::Softmax(table, logits);
}

TokenId DrawFromAll(std::span<const float> probs, double uniform, std::vector<double>& sums) {
  const double target = uniform * SumBlocks(probs, sums);
  double before = 0.0;
  std::size_t block = 0;
  for (; block + 1 < sums.size() && before + sums[block] <= target; ++block) before += sums[block];
  // Sums of single probabilities round differently than those of blocks, so the last token of the
  // block stands for what is missing at its end.
  const std::size_t start = block * kBlock;
  const std::size_t end = std::min(start + kBlock, probs.size());
  std::size_t last = start;
  for (std::size_t i = start; i < end; ++i) {
    if (probs[i] == 0.0F) continue;
    last = i;
    before += double{probs[i]};
    if (before > target) break;
  }
  return static_cast<TokenId>(last);
}

TokenId DrawFromKept(std::span<const Candidate> kept, double uniform) {
  const double target = uniform * SumShares(kept);
  double sum = 0.0;
  for (const Candidate& candidate : kept) {
    sum += double{candidate.share};
    if (sum > target) return candidate.token;
  }
  return kept.back().token;
}

// The tokens of at least `least` probability, never those of none.
void Gather(std::span<const float> probs, float least, std::vector<Candidate>& kept) {
  const float bound = std::max(least, std::numeric_limits<float>::min());
  kept.clear();
  for (std::size_t i = 0; i < probs.size(); ++i) {
    if (probs[i] >= bound) kept.push_back({probs[i], static_cast<TokenId>(i)});
  }
}

// Gathers, in passes that reach further and further down to `least`, until `is_enough`.
template <typename IsEnough>
void GatherUntil(IsEnough is_enough, std::span<const float> probs, float best, float least,
                 std::vector<Candidate>& kept) {
  for (float share = kShareStep;; share *= kShareStep) {
    const float bound = std::max(least, best * share);
    Gather(probs, bound, kept);
    if (bound <= least || is_enough()) return;
  }
}

// The last of the fewest first candidates, in their order, whose shares reach `target` together;
// the very last where all do not. Halves the range each time, so it is linear on the whole.
RankedCandidate LastNeeded(std::span<RankedCandidate> ranked, double target) {
  double before = 0.0;
  while (ranked.size() > 1) {
    const std::size_t half = ranked.size() / 2;
    std::nth_element(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(half),
                     ranked.end(), IsBefore);
    double with_half = before;
    for (const RankedCandidate& candidate : ranked.first(half)) {
      with_half += double{candidate.share};
    }
    if (with_half >= target) {
      ranked = ranked.first(half);
    } else {
      before = with_half;
      ranked = ranked.subspan(half);
    }
  }
  return ranked.front();
}

// Keeps the fewest candidates, lowest key first, whose shares reach `target`.
template <typename Key>
void KeepUntil(double target, Key key, DrawScratch& scratch) {
  scratch.ranked.clear();
  for (const Candidate& candidate : scratch.kept) {
    scratch.ranked.push_back({key(candidate), candidate.token, candidate.share});
  }
  const RankedCandidate last = LastNeeded(scratch.ranked, target);
  std::erase_if(scratch.kept, [&](const Candidate& candidate) {
    return IsBefore(last, {key(candidate), candidate.token, candidate.share});
  });
}

void KeepTopK(std::size_t top_k, DrawScratch& scratch) {
  if (scratch.kept.size() <= top_k) return;
  scratch.ranked.clear();
  for (const Candidate& candidate : scratch.kept) {
    scratch.ranked.push_back({-candidate.share, candidate.token, candidate.share});
  }
  const auto kth = scratch.ranked.begin() + static_cast<std::ptrdiff_t>(top_k - 1);
  std::nth_element(scratch.ranked.begin(), kth, scratch.ranked.end(), IsBefore);
  const float least = kth->share;
  std::erase_if(scratch.kept, [&](const Candidate& candidate) { return candidate.share < least; });
}

void KeepTopP(double top_p, double total, DrawScratch& scratch) {
  KeepUntil(
      top_p * total, [](const Candidate& candidate) { return -candidate.share; }, scratch);
}

void KeepTypical(double typical_p, DrawScratch& scratch) {
  const double total = SumShares(scratch.kept);
  double entropy = 0.0;
  for (const Candidate& candidate : scratch.kept) {
    const double probability = double{candidate.share} / total;
    entropy -= probability * std::log(probability);
  }
  const auto distance = [&](const Candidate& candidate) {
    return static_cast<float>(std::abs(-std::log(double{candidate.share} / total) - entropy));
  };
  KeepUntil(typical_p * total, distance, scratch);
}

// How many top_k keeps of so large a vocabulary; 0: all.
std::size_t TopKOf(const SamplingParams& params, std::size_t vocab_size) {
  const auto top_k = static_cast<std::size_t>(std::max(params.top_k, 0));
  return top_k < vocab_size ? top_k : 0;
}

// min_p, top_k and top_p, none of which needs more than the candidates far enough up.
void KeepBest(const SamplingParams& params, float best, std::span<const float> probs,
              DrawScratch& scratch) {
  const auto least = static_cast<float>(params.min_p * double{best});
  if (const std::size_t top_k = TopKOf(params, probs.size()); top_k > 0) {
    GatherUntil([&] { return scratch.kept.size() >= top_k; }, probs, best, least, scratch.kept);
    KeepTopK(top_k, scratch);
    if (params.top_p < 1.0) KeepTopP(params.top_p, SumShares(scratch.kept), scratch);
  } else if (params.top_p < 1.0 && least == 0.0F) {
    const double total = SumBlocks(probs, scratch.block_sums);
    const double target = params.top_p * total;
    GatherUntil([&] { return SumShares(scratch.kept) >= target; }, probs, best, least,
                scratch.kept);
    KeepTopP(params.top_p, total, scratch);
  } else {
    Gather(probs, least, scratch.kept);
    if (params.top_p < 1.0) KeepTopP(params.top_p, SumShares(scratch.kept), scratch);
  }
}

}  // namespace

DrawScratch::DrawScratch(std::int32_t vocab_size) {
  const auto size = static_cast<std::size_t>(vocab_size);
  kept.reserve(size);
  ranked.reserve(size);
  block_sums.reserve(size / kBlock + 1);
}

TokenId DrawToken(const kernels::CpuTable& table, const SamplingParams& params, double uniform,
                  TokenId best, std::span<float> logits, DrawScratch& scratch) {
  const float max = logits[static_cast<std::size_t>(best)];
  ToProbabilities(table, params.temperature, max, logits);
  const bool is_whole = params.min_p <= 0.0 && params.top_p >= 1.0 && params.typical_p >= 1.0 &&
                        TopKOf(params, logits.size()) == 0;
  scratch.kept.clear();
  if (is_whole) return DrawFromAll(logits, uniform, scratch.block_sums);
  KeepBest(params, logits[static_cast<std::size_t>(best)], logits, scratch);
  if (params.typical_p < 1.0) KeepTypical(params.typical_p, scratch);
  return DrawFromKept(scratch.kept, uniform);
}

}  // namespace quire
