// From edited logits to a token: temperature, the cuts of the distribution, and the draw.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/id.h"
#include "ops/context.h"
#include "request/sampling_params.h"

namespace quire {

// A token that may be drawn, and its share of the probability (shares need not sum to 1).
struct Candidate {
  float share;
  TokenId token;
};

// A candidate in an order: lower keys first, lower tokens among equals.
struct RankedCandidate {
  float key;
  TokenId token;
  float share;
};

// Memory that DrawToken needs.
struct DrawScratch {
  explicit DrawScratch(std::int32_t vocab_size);

  std::vector<Candidate> kept;          // by token; those that the cuts left, none without cuts
  std::vector<RankedCandidate> ranked;  // the same in no order, for selection
  std::vector<double> block_sums;
};

// The token that `uniform`, in [0, 1), picks from softmax(logits / temperature) after the cuts, in
// this order: min_p; top_k, ties with the k-th kept; top_p, the fewest best tokens that reach it;
// typical_p, the fewest tokens nearest to the entropy that reach it. It is the first token by id
// at which the cumulated probability exceeds `uniform`, so equal inputs give equal tokens.
//
// `best` is the index of the largest logit, which is finite; the others are finite or -inf. The
// logits are overwritten. Linear in the vocabulary: nothing is sorted.
TokenId DrawToken(const kernels::CpuTable& table, const SamplingParams& params, double uniform,
                  TokenId best, std::span<float> logits, DrawScratch& scratch);

}  // namespace quire
