// Attention over a paged KV cache, over an ISA's lanes.h and wide/exp_body.h.
//
// Keys are stored one dimension after another, so a register holds one dimension of kWidth
// neighbouring positions: scores need no folding, and one load serves all query vectors of the tile
// (grouped heads and neighbouring rows). Values are stored position after position, so a register
// holds kWidth dimensions of one position; sums over positions run down the registers. Both orders
// are those of the contract, whatever the width and the tile. Scales of int8 vectors are applied to
// scores and weights, a register of positions at a time, so that sums over dimensions take codes.
#pragma once

#include "kernels/wide/attention_chunk.h"
#include "kernels/wide/parts.h"

namespace quire::kernels {
namespace {

// Query vectors that are scored at once, groups of positions at once, and query vectors whose
// values are summed at once: what the registers hold.
constexpr int kScoreQueries = kRegisters == 32 ? 8 : 6;
constexpr int kValueQueries = kRegisters == 32 ? 6 : 3;

constexpr int PositionGroups(int queries) {
  if (kRegisters == 32) return queries <= 4 ? 4 : 2;
  return queries <= 3 ? 4 : 2;
}

template <typename T, int kQueries, typename MaskOf>
QUIRE_INLINE void ScoreGroups(Chunk<T>& chunk, int first_query, int first_group,
                              const MaskOf& mask_of) {
  constexpr int kGroups = PositionGroups(kQueries);
  const KeyGroup<T>* groups = chunk.groups + first_group;
  const std::int64_t block_size = chunk.args.kv.block_size;
  Ahead<T> ahead = chunk.ahead;
  Floats dots[kQueries][kGroups] = {};
#pragma GCC unroll 2
  for (std::int64_t d = 0; d < chunk.args.kv.head_dim; ++d) {
    ahead.template Touch<2>();
    // Whichever are fewer, queries or groups of keys, are loaded once and kept; the others pass by.
    if constexpr (kQueries < kGroups) {
      Floats q[kQueries];
#pragma GCC unroll 8
      for (int i = 0; i < kQueries; ++i) q[i] = Set(chunk.queries[first_query + i][d]);
#pragma GCC unroll 4
      for (int g = 0; g < kGroups; ++g) {
        const Floats key = Load(groups[g].keys + d * block_size, mask_of(groups[g]));
#pragma GCC unroll 8
        for (int i = 0; i < kQueries; ++i) dots[i][g] = Fused(q[i], key, dots[i][g]);
      }
    } else {
      Floats keys[kGroups];
#pragma GCC unroll 4
      for (int g = 0; g < kGroups; ++g) {
        keys[g] = Load(groups[g].keys + d * block_size, mask_of(groups[g]));
      }
#pragma GCC unroll 8
      for (int i = 0; i < kQueries; ++i) {
        const Floats q = Set(chunk.queries[first_query + i][d]);
#pragma GCC unroll 4
        for (int g = 0; g < kGroups; ++g) dots[i][g] = Fused(q, keys[g], dots[i][g]);
      }
    }
  }
  chunk.ahead = ahead;
  for (int i = 0; i < kQueries; ++i) {
    for (int g = 0; g < kGroups; ++g) {
      Floats score = Multiply(Set(chunk.args.scale), dots[i][g]);
      const int first = groups[g].first;
      const auto mask = mask_of(groups[g]);
      if constexpr (kHasScales<T>) score = Multiply(score, Load(chunk.key_scales + first, mask));
      Store(chunk.scores[first_query + i] + first, score, mask);
    }
  }
}

template <typename T, int kQueries>
void ScoreQueries(Chunk<T>& chunk, int first_query) {
  constexpr int kGroups = PositionGroups(kQueries);
  for (int g = 0; g < chunk.num_groups; g += kGroups) {
    bool all_full = true;
    for (int i = 0; i < kGroups; ++i) all_full &= chunk.groups[g + i].count == kWidth;
    if (all_full) {
      ScoreGroups<T, kQueries>(chunk, first_query, g, [](const auto&) { return AllLanes{}; });
    } else {
      ScoreGroups<T, kQueries>(chunk, first_query, g,
                               [](const auto& group) { return First(group.count); });
    }
  }
}

template <typename T>
void ScoreAll(Chunk<T>& chunk) {
  int i = 0;
  for (; i + kScoreQueries <= chunk.num_queries; i += kScoreQueries) {
    ScoreQueries<T, kScoreQueries>(chunk, i);
  }
  const int left = chunk.num_queries - i;
  if constexpr (kScoreQueries == 8) {
    if (left == 7) ScoreQueries<T, 7>(chunk, i);
    if (left == 6) ScoreQueries<T, 6>(chunk, i);
  }
  if (left == 5) ScoreQueries<T, 5>(chunk, i);
  if (left == 4) ScoreQueries<T, 4>(chunk, i);
  if (left == 3) ScoreQueries<T, 3>(chunk, i);
  if (left == 2) ScoreQueries<T, 2>(chunk, i);
  if (left == 1) ScoreQueries<T, 1>(chunk, i);
}

// Turns the scores of a query vector into weights; sets the chunk's sum of it.
template <typename T>
void Weigh(Chunk<T>& chunk, int i) {
  float* scores = chunk.scores[i];
  const Floats max = Set(chunk.max[i]);
  Floats lanes[kParts] = {};
  ForVisible(chunk.visible[i], [&](int at, int lane, auto part) QUIRE_INLINE_LAMBDA {
    const Floats e = Exp</*kIsNegative=*/true>(Subtract(Load(scores + at), max));
    const Floats p = Within(part, e, Zero());
    if constexpr (kHasScales<T>) {
      Store(scores + at, Multiply(p, Load(chunk.value_scales + at)));
    } else {
      Store(scores + at, p);
    }
    lanes[lane] = Add(lanes[lane], p);
  });
  chunk.sum[i] = FoldHalves(lanes);
}

// sums[i] += weights of positions [begin, end) times their values.
template <typename T, int kQueries, typename MaskOf>
QUIRE_INLINE void AddPositions(Chunk<T>& chunk, int query, Visible range, Slice slice,
                               const MaskOf& mask_of, SliceSums<kQueries>& sums) {
  Ahead<T> ahead = chunk.ahead;
#pragma GCC unroll 2
  for (int j = range.begin; j < range.end; ++j) {
    ahead.template Touch<2>();
    const T* values = chunk.values[j] + slice.first;
    Floats p[kQueries];
#pragma GCC unroll 8
    for (int i = 0; i < kQueries; ++i) p[i] = Set(chunk.scores[query + i][j]);
#pragma GCC unroll 4
    for (int part = 0; part < kValueParts; ++part) {
      const Floats v = Load(values + part * kWidth, mask_of(part));
#pragma GCC unroll 8
      for (int i = 0; i < kQueries; ++i) sums[i][part] = Fused(p[i], v, sums[i][part]);
    }
  }
  chunk.ahead = ahead;
}

// Sums and merges one slice of kQueries query vectors from `query`. Positions that all of them see
// are summed together, those before and after for each alone, in the order of positions.
template <typename T, int kQueries, typename MaskOf>
QUIRE_INLINE void SumSlice(Chunk<T>& chunk, const Factors& factors, int query, Slice slice,
                           const MaskOf& mask_of) {
  Visible common = {0, kAttentionChunk};
  bool sees_nothing = true;
  for (int i = 0; i < kQueries; ++i) {
    const Visible visible = chunk.visible[query + i];
    if (visible.empty()) continue;
    sees_nothing = false;
    common.begin = visible.begin > common.begin ? visible.begin : common.begin;
    common.end = visible.end < common.end ? visible.end : common.end;
  }
  if (sees_nothing) return;
  if (common.empty()) common = {kAttentionChunk, kAttentionChunk};
  Floats sums[kQueries][kValueParts] = {};
  const auto add_alone = [&](int i, int begin, int end) {
    Floats one[1][kValueParts];
    for (int part = 0; part < kValueParts; ++part) one[0][part] = sums[i][part];
    AddPositions<T, 1>(chunk, query + i, {begin, end}, slice, mask_of, one);
    for (int part = 0; part < kValueParts; ++part) sums[i][part] = one[0][part];
  };
  const auto smaller = [](int a, int b) { return a < b ? a : b; };
  for (int i = 0; i < kQueries; ++i) {
    const Visible visible = chunk.visible[query + i];
    if (!visible.empty() && visible.begin < common.begin) {
      add_alone(i, visible.begin, smaller(visible.end, common.begin));
    }
  }
  AddPositions<T, kQueries>(chunk, query, common, slice, mask_of, sums);
  for (int i = 0; i < kQueries; ++i) {
    const Visible visible = chunk.visible[query + i];
    if (!visible.empty() && visible.end > common.end) add_alone(i, common.end, visible.end);
  }
  MergeOut<T, kQueries>(chunk, factors, query, slice, mask_of, sums);
}

template <typename T, int kQueries>
void SumValues(Chunk<T>& chunk, const Factors& factors, int query) {
  const std::int64_t dims = chunk.args.kv.value_dim;
  std::int64_t first = 0;
  for (; first + kSlice <= dims; first += kSlice) {
    SumSlice<T, kQueries>(chunk, factors, query, {first, kSlice}, [](int) { return AllLanes{}; });
  }
  if (first < dims) {
    const std::int64_t left = dims - first;
    SumSlice<T, kQueries>(chunk, factors, query, {first, left}, [left](int part) {
      return First(left > part * kWidth ? left - part * kWidth : 0);
    });
  }
}

template <typename T>
void SumAll(Chunk<T>& chunk, const Factors& factors) {
  int i = 0;
  for (; i + kValueQueries <= chunk.num_queries; i += kValueQueries) {
    SumValues<T, kValueQueries>(chunk, factors, i);
  }
  const int left = chunk.num_queries - i;
  if constexpr (kValueQueries == 6) {
    if (left == 5) SumValues<T, 5>(chunk, factors, i);
    if (left == 4) SumValues<T, 4>(chunk, factors, i);
    if (left == 3) SumValues<T, 3>(chunk, factors, i);
  }
  if (left == 2) SumValues<T, 2>(chunk, factors, i);
  if (left == 1) SumValues<T, 1>(chunk, factors, i);
}

template <typename T>
void Attend(const AttendArgs& args) {
  Chunk<T> chunk(args);
  const Visible all = ListQueries(chunk);
  if (all.empty()) return;
  ListPositions(chunk, all);
  ScoreAll(chunk);
  // Apart, so that the processor goes on to the next vector while it folds one.
  for (int i = 0; i < chunk.num_queries; ++i) {
    if (!chunk.visible[i].empty()) FindMax(chunk, i);
  }
  for (int i = 0; i < chunk.num_queries; ++i) {
    if (!chunk.visible[i].empty()) Weigh(chunk, i);
  }
  Factors factors;
  MergeSums(chunk, factors);
  SumAll(chunk, factors);
}

void Merge(const AttentionState& into, const AttentionState& part, std::int64_t value_dim) {
  if (*part.max == -__builtin_inff() && *part.sum == 0.0F) return;
  const float max = *part.max > *into.max ? *part.max : *into.max;
  float factors[kLanes] = {*into.max - max, *part.max - max};
  ExpAll(factors, 2);
  const Floats a = Set(factors[0]);
  const Floats b = Set(factors[1]);
  *into.max = max;
  *into.sum = __builtin_fmaf(*into.sum, factors[0], *part.sum * factors[1]);
  ForParts(value_dim, [&](int, std::int64_t d, auto mask) QUIRE_INLINE_LAMBDA {
    const Floats scaled = Multiply(Load(part.out + d, mask), b);
    Store(into.out + d, Fused(Load(into.out + d, mask), a, scaled), mask);
  });
}

}  // namespace
}  // namespace quire::kernels
