// Attention over bf16 pages, with products of bf16 pairs.
//
// vdpbf16ps multiplies the two neighbouring bf16 values of a lane with two others and adds both to
// the lane: twice the products of an f32 instruction. Keys give pairs of dimensions, two rows of a
// page woven together; values give pairs of positions. What they are multiplied with, queries and
// weights, is rounded to bf16 and broadcast as pairs. Weights take the place of their scores.
#include <immintrin.h>

#include "kernels/avx512/lanes.h"
#include "kernels/fill.h"
#include "kernels/table.h"
#include "kernels/wide/attention_chunk.h"

namespace quire::kernels {
namespace {

constexpr int kScoreQueries = 8;  // query vectors scored at once
constexpr int kValueQueries = 6;  // and those whose values are summed at once

constexpr int PositionGroups(int queries) { return queries <= 4 ? 4 : 2; }

using PairChunk = Chunk<Bf16Bits>;
using Pair = std::int32_t;

// Where a position of a pair is not visible.
alignas(64) constexpr Bf16Bits kZeros[kMaxPairedDim] = {};

struct Queries {
  Pair pairs[kMaxQueries * kMaxPairedDim / 2];  // [query, head_dim / 2]
};

QUIRE_INLINE __m512bh AsBf16(__m512i x) { return reinterpret_cast<__m512bh>(x); }
QUIRE_INLINE __m512bh Twice(Pair pair) { return AsBf16(_mm512_set1_epi32(pair)); }
QUIRE_INLINE Pair PairAt(const void* x) {
  Pair pair;
  __builtin_memcpy(&pair, x, sizeof pair);
  return pair;
}

// Rounded to nearest even.
QUIRE_INLINE __m256i Round(Floats x) { return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x)); }

QUIRE_INLINE __m256i Bits(const Bf16Bits* x, AllLanes) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
}
QUIRE_INLINE __m256i Bits(const Bf16Bits* x, Mask mask) {
  return _mm256_maskz_loadu_epi16(mask, x);
}

// Lane i: a[i] and b[i].
QUIRE_INLINE __m512bh Weave(__m256i a, __m256i b) {
  const __m512i order = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40,
                                         8, 39, 7, 38, 6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
  return AsBf16(
      _mm512_permutex2var_epi16(_mm512_castsi256_si512(a), order, _mm512_castsi256_si512(b)));
}

void RoundQueries(const PairChunk& chunk, Queries& queries) {
  const std::int64_t dims = chunk.args.kv.head_dim;
  Pair* out = queries.pairs;
  for (int i = 0; i < chunk.num_queries; ++i, out += dims / 2) {
    const float* q = chunk.queries[i];
    for (std::int64_t d = 0; d < dims; d += kWidth) {
      const Mask mask = First(dims - d);
      _mm256_mask_storeu_epi16(out + d / 2, mask, Round(Load(q + d, mask)));
    }
  }
}

template <int kQueries, typename MaskOf>
QUIRE_INLINE void ScoreGroups(PairChunk& chunk, const Queries& queries, int first_query,
                              int first_group, const MaskOf& mask_of) {
  constexpr int kGroups = PositionGroups(kQueries);
  const KeyGroup<Bf16Bits>* groups = chunk.groups + first_group;
  const std::int64_t block_size = chunk.args.kv.block_size;
  const std::int64_t pairs = chunk.args.kv.head_dim / 2;
  const Pair* q = queries.pairs + first_query * pairs;
  Ahead<Bf16Bits> ahead = chunk.ahead;
  Floats dots[kQueries][kGroups] = {};
  for (std::int64_t d = 0; d < pairs; ++d) {
    ahead.Touch<4>();
    __m512bh keys[kGroups];
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      const Bf16Bits* at = groups[g].keys + 2 * d * block_size;
      const auto mask = mask_of(groups[g]);
      keys[g] = Weave(Bits(at, mask), Bits(at + block_size, mask));
    }
#pragma GCC unroll 8
    for (int i = 0; i < kQueries; ++i) {
      const __m512bh pair = Twice(q[i * pairs + d]);
#pragma GCC unroll 4
      for (int g = 0; g < kGroups; ++g) dots[i][g] = _mm512_dpbf16_ps(dots[i][g], pair, keys[g]);
    }
  }
  chunk.ahead = ahead;
  for (int i = 0; i < kQueries; ++i) {
    for (int g = 0; g < kGroups; ++g) {
      Store(chunk.scores[first_query + i] + groups[g].first,
            Multiply(Set(chunk.args.scale), dots[i][g]), mask_of(groups[g]));
    }
  }
}

template <int kQueries>
void ScoreQueries(PairChunk& chunk, const Queries& queries, int first_query) {
  constexpr int kGroups = PositionGroups(kQueries);
  for (int g = 0; g < chunk.num_groups; g += kGroups) {
    bool all_full = true;
    for (int i = 0; i < kGroups; ++i) all_full &= chunk.groups[g + i].count == kWidth;
    if (all_full) {
      ScoreGroups<kQueries>(chunk, queries, first_query, g, [](const auto&) { return AllLanes{}; });
    } else {
      ScoreGroups<kQueries>(chunk, queries, first_query, g,
                            [](const auto& group) { return First(group.count); });
    }
  }
}

void ScoreAll(PairChunk& chunk, const Queries& queries) {
  int i = 0;
  for (; i + kScoreQueries <= chunk.num_queries; i += kScoreQueries) {
    ScoreQueries<kScoreQueries>(chunk, queries, i);
  }
  const int left = chunk.num_queries - i;
  if (left == 7) ScoreQueries<7>(chunk, queries, i);
  if (left == 6) ScoreQueries<6>(chunk, queries, i);
  if (left == 5) ScoreQueries<5>(chunk, queries, i);
  if (left == 4) ScoreQueries<4>(chunk, queries, i);
  if (left == 3) ScoreQueries<3>(chunk, queries, i);
  if (left == 2) ScoreQueries<2>(chunk, queries, i);
  if (left == 1) ScoreQueries<1>(chunk, queries, i);
}

// e^x for x of at most 0, to 2^-13.2 of itself: what is kept of it has 8 bits.
QUIRE_INLINE Floats ShortExp(Floats x) {
  constexpr float kLeast = -150.0F;                                    // 2^-150 is nothing
  const Floats power = Larger(Set(kLeast), Multiply(x, Set(kLog2E)));  // NaN stays NaN
  const Floats whole = RoundToEven(power);
  const Floats part = Subtract(power, whole);
  // The least relative error of a cubic with 1 at 0.
  Floats y = Fused(Set(0.0550084747F), part, Set(0.242210120F));
  y = Fused(y, part, Set(0.693282902F));
  return _mm512_scalef_ps(Fused(y, part, Set(1.0F)), whole);
}

// The weight of position j of a query vector stands at j halves from the beginning of its scores.
const std::byte* WeightAt(const PairChunk& chunk, int query, int j) {
  return reinterpret_cast<const std::byte*>(chunk.scores[query]) + j * sizeof(Bf16Bits);
}

// Turns the scores of a query vector into rounded weights; sets the chunk's sum of them.
void Weigh(PairChunk& chunk, int i) {
  const float* scores = chunk.scores[i];
  auto* weights = reinterpret_cast<std::byte*>(chunk.scores[i]);
  const Floats max = Set(chunk.max[i]);
  Floats sum = Zero();
  ForVisible(chunk.visible[i], [&](int at, int, auto part) QUIRE_INLINE_LAMBDA {
    const Floats e = ShortExp(Subtract(Load(scores + at), max));
    const __m256i rounded = Round(Within(part, e, Zero()));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(weights + at * sizeof(Bf16Bits)), rounded);
    sum = Add(sum, WidenBf16(rounded));
  });
  chunk.sum[i] = FoldHalves(&sum);
}

struct TwoValues {
  const Bf16Bits* first;
  const Bf16Bits* second;
};

// sums[i] += the weights of positions j and j + 1 times their values.
template <int kQueries, typename MaskOf>
QUIRE_INLINE void AddPair(const PairChunk& chunk, int query, int j, TwoValues values,
                          const MaskOf& mask_of, SliceSums<kQueries>& sums) {
  __m512bh p[kQueries];
#pragma GCC unroll 8
  for (int i = 0; i < kQueries; ++i) p[i] = Twice(PairAt(WeightAt(chunk, query + i, j)));
#pragma GCC unroll 4
  for (int part = 0; part < kValueParts; ++part) {
    const auto mask = mask_of(part);
    const __m512bh v =
        Weave(Bits(values.first + part * kWidth, mask), Bits(values.second + part * kWidth, mask));
#pragma GCC unroll 8
    for (int i = 0; i < kQueries; ++i) sums[i][part] = _mm512_dpbf16_ps(sums[i][part], p[i], v);
  }
}

// Whole pairs that all kQueries query vectors see; empty pairs at the chunk's end where none is.
template <int kQueries>
Visible CommonPairs(const PairChunk& chunk, int query) {
  Visible common = {0, kAttentionChunk};
  for (int i = 0; i < kQueries; ++i) {
    const Visible visible = chunk.visible[query + i];
    if (visible.empty()) continue;
    common.begin = visible.begin > common.begin ? visible.begin : common.begin;
    common.end = visible.end < common.end ? visible.end : common.end;
  }
  common = {(common.begin + 1) / 2 * 2, common.end / 2 * 2};
  return common.empty() ? Visible{kAttentionChunk, kAttentionChunk} : common;
}

// Pairs [begin, end) of positions for one query vector, which may not see both of each.
template <typename MaskOf>
void AddAlone(const PairChunk& chunk, int query, Visible range, Slice slice, const MaskOf& mask_of,
              Floats (&sums)[kValueParts]) {
  const Visible visible = chunk.visible[query];
  Floats one[1][kValueParts];
  for (int part = 0; part < kValueParts; ++part) one[0][part] = sums[part];
  for (int j = range.begin / 2 * 2; j < range.end; j += 2) {
    const bool sees_first = j >= visible.begin;
    const bool sees_second = j + 1 < visible.end;
    const TwoValues values = {sees_first ? chunk.values[j] + slice.first : kZeros,
                              sees_second ? chunk.values[j + 1] + slice.first : kZeros};
    AddPair<1>(chunk, query, j, values, mask_of, one);
  }
  for (int part = 0; part < kValueParts; ++part) sums[part] = one[0][part];
}

// Pairs [begin, end) of positions, both of which all query vectors see.
template <int kQueries, typename MaskOf>
QUIRE_INLINE void AddCommon(PairChunk& chunk, int query, Visible pairs, Slice slice,
                            const MaskOf& mask_of, SliceSums<kQueries>& sums) {
  Ahead<Bf16Bits> ahead = chunk.ahead;
  Floats local[kQueries][kValueParts];  // apart from `sums`, so that they stay in registers
  __builtin_memcpy(local, sums, sizeof local);
  for (int j = pairs.begin; j < pairs.end; j += 2) {
    ahead.Touch<4>();
    AddPair<kQueries>(chunk, query, j,
                      {chunk.values[j] + slice.first, chunk.values[j + 1] + slice.first}, mask_of,
                      local);
  }
  __builtin_memcpy(sums, local, sizeof local);
  chunk.ahead = ahead;
}

// Sums and merges one slice of kQueries query vectors from `query`. Pairs that all of them see are
// summed together, those before and after for each alone, in the order of positions.
template <int kQueries, typename MaskOf>
QUIRE_INLINE void SumSlice(PairChunk& chunk, const Factors& factors, int query, Slice slice,
                           const MaskOf& mask_of) {
  const Visible common = CommonPairs<kQueries>(chunk, query);
  Floats sums[kQueries][kValueParts] = {};
  for (int i = 0; i < kQueries; ++i) {
    const Visible visible = chunk.visible[query + i];
    if (visible.empty() || visible.begin >= common.begin) continue;
    const int end = visible.end < common.begin ? visible.end : common.begin;
    AddAlone(chunk, query + i, {visible.begin, end}, slice, mask_of, sums[i]);
  }
  AddCommon<kQueries>(chunk, query, common, slice, mask_of, sums);
  for (int i = 0; i < kQueries; ++i) {
    const Visible visible = chunk.visible[query + i];
    if (visible.empty() || visible.end <= common.end) continue;
    AddAlone(chunk, query + i, {common.end, visible.end}, slice, mask_of, sums[i]);
  }
  MergeOut<Bf16Bits, kQueries>(chunk, factors, query, slice, mask_of, sums);
}

template <int kQueries>
void SumValues(PairChunk& chunk, const Factors& factors, int query) {
  bool sees_nothing = true;
  for (int i = 0; i < kQueries; ++i) sees_nothing &= chunk.visible[query + i].empty();
  if (sees_nothing) return;
  const std::int64_t dims = chunk.args.kv.value_dim;
  std::int64_t first = 0;
  for (; first + kSlice <= dims; first += kSlice) {
    SumSlice<kQueries>(chunk, factors, query, {first, kSlice}, [](int) { return AllLanes{}; });
  }
  if (first < dims) {
    const std::int64_t left = dims - first;
    SumSlice<kQueries>(chunk, factors, query, {first, left}, [left](int part) {
      return First(left > part * kWidth ? left - part * kWidth : 0);
    });
  }
}

void SumAll(PairChunk& chunk, const Factors& factors) {
  int i = 0;
  for (; i + kValueQueries <= chunk.num_queries; i += kValueQueries) {
    SumValues<kValueQueries>(chunk, factors, i);
  }
  const int left = chunk.num_queries - i;
  if (left == 5) SumValues<5>(chunk, factors, i);
  if (left == 4) SumValues<4>(chunk, factors, i);
  if (left == 3) SumValues<3>(chunk, factors, i);
  if (left == 2) SumValues<2>(chunk, factors, i);
  if (left == 1) SumValues<1>(chunk, factors, i);
}

void AttendPairs(const AttendArgs& args) {
  PairChunk chunk(args);
  const Visible all = ListQueries(chunk);
  if (all.empty()) return;
  ListPositions(chunk, all);
  Queries queries;
  RoundQueries(chunk, queries);
  ScoreAll(chunk, queries);
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

}  // namespace

void FillAvx512Bf16Attention(CpuTable& table) { table.attend_pairs = AttendPairs; }

}  // namespace quire::kernels
