// Attention over a paged KV cache, over an ISA's lanes.h and wide/exp_body.h.
//
// Keys are stored one dimension after another, so a register holds one dimension of kWidth
// neighbouring positions: scores need no folding, and one load serves all query vectors of the tile
// (grouped heads and neighbouring rows). Values are stored position after position, so a register
// holds kWidth dimensions of one position; sums over positions run down the registers. Both orders
// are those of the contract, whatever the width and the tile. Scales of int8 vectors are applied to
// scores and weights, a register of positions at a time, so that sums over dimensions take codes.
#pragma once

#include "kernels/attention.h"
#include "kernels/wide/exp_body.h"
#include "kernels/wide/parts.h"

namespace quire::kernels {
namespace {

// Query vectors that are scored at once, groups of positions at once, and query vectors whose
// values are summed at once: what the registers hold.
constexpr int kScoreQueries = kRegisters == 32 ? 8 : 4;
constexpr int kValueQueries = kRegisters == 32 ? 6 : 3;
constexpr int kValueParts = 4;  // registers of one slice of a value
constexpr int kSlice = kValueParts * kWidth;

constexpr int PositionGroups(int queries) {
  if (kRegisters == 32) return queries <= 4 ? 4 : 2;
  return queries <= 2 ? 4 : 2;
}

// Up to kWidth neighbouring positions of one block.
template <typename T>
struct KeyGroup {
  const T* keys;  // dimension 0 of the first
  int first;      // position in the chunk
  int count;
};

struct Visible {
  int begin;  // positions in the chunk
  int end;
  bool empty() const { return begin >= end; }
};

// Whether vectors have scales of their own, which stand after a block's codes.
template <typename T>
constexpr bool kHasScales = false;
template <>
constexpr bool kHasScales<std::int8_t> = true;

template <typename T>
struct Chunk {
  explicit Chunk(const AttendArgs& attend_args)
      : args(attend_args), num_queries(static_cast<int>(args.rows * args.heads)) {}

  const AttendArgs& args;
  int num_queries;
  int num_groups;
  const float* queries[kMaxQueries];
  Visible visible[kMaxQueries];
  KeyGroup<T> groups[kAttentionChunk + 4];  // padded with repetitions of the last
  const T* values[kAttentionChunk];         // of each position
  float scores[kMaxQueries][kAttentionChunk];
  float max[kMaxQueries];  // of this chunk, and its sum
  float sum[kMaxQueries];
  // Of each position, where there are any.
  float key_scales[kHasScales<T> ? kAttentionChunk : 1] = {};
  float value_scales[kHasScales<T> ? kAttentionChunk : 1] = {};
};

Visible VisibleOf(const AttendArgs& args, std::int64_t row) {
  const std::int64_t chunk_begin = args.chunk * kAttentionChunk;
  const std::int64_t row_end = args.first_end + row;
  const std::int64_t row_begin =
      args.window > 0 && row_end > args.window ? row_end - args.window : 0;
  const std::int64_t begin = row_begin > chunk_begin ? row_begin - chunk_begin : 0;
  const std::int64_t end = row_end - chunk_begin < kAttentionChunk ? row_end - chunk_begin
                                                                   : std::int64_t{kAttentionChunk};
  return {static_cast<int>(begin), static_cast<int>(end)};
}

// Lists the query vectors that see something; the positions that any of them sees.
template <typename T>
Visible ListQueries(Chunk<T>& chunk) {
  Visible all = {kAttentionChunk, 0};
  const AttendArgs& args = chunk.args;
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const Visible visible = VisibleOf(args, r);
    for (std::int64_t h = 0; h < args.heads; ++h) {
      const std::int64_t i = r * args.heads + h;
      chunk.visible[i] = visible;
      chunk.queries[i] = args.q + r * args.q_stride + h * args.kv.head_dim;
    }
    if (visible.empty()) continue;
    all.begin = visible.begin < all.begin ? visible.begin : all.begin;
    all.end = visible.end > all.end ? visible.end : all.end;
  }
  return all;
}

// Scales of `count` slots of a block, from `offset` on, whose codes start at `codes`.
void CopyScales(const std::int8_t* codes, std::int64_t num_codes, std::int64_t offset, int count,
                float* out) {
  const std::int8_t* scales = codes + num_codes + offset * kKvScaleBytes;
  __builtin_memcpy(out, scales, static_cast<std::size_t>(count) * kKvScaleBytes);
}

// Cuts the positions into groups that lie in one block each.
template <typename T>
void ListPositions(Chunk<T>& chunk, Visible all) {
  const KvHead& kv = chunk.args.kv;
  const std::int64_t chunk_begin = chunk.args.chunk * kAttentionChunk;
  chunk.num_groups = 0;
  for (int p = all.begin; p < all.end;) {
    const std::int64_t position = chunk_begin + p;
    const std::int64_t block = chunk.args.block_table[position / kv.block_size];
    const std::int64_t offset = position % kv.block_size;
    const std::int64_t left = kv.block_size - offset;
    const int in_block = left < all.end - p ? static_cast<int>(left) : all.end - p;
    const T* k = reinterpret_cast<const T*>(kv.k) + block * kv.k_block_stride + offset;
    const T* v =
        reinterpret_cast<const T*>(kv.v) + block * kv.v_block_stride + offset * kv.value_dim;
    for (int i = 0; i < in_block; ++i) chunk.values[p + i] = v + i * kv.value_dim;
    if constexpr (kHasScales<T>) {
      CopyScales(k - offset, kv.block_size * kv.head_dim, offset, in_block, chunk.key_scales + p);
      CopyScales(v - offset * kv.value_dim, kv.block_size * kv.value_dim, offset, in_block,
                 chunk.value_scales + p);
    }
    for (int i = 0; i < in_block; i += kWidth) {
      // What else stands in the block and has room among the scores may be scored too: lanes never
      // mix, and what is not visible is left out later. Masked accesses are slow.
      const bool has_room = left - i >= kWidth && p + i + kWidth <= kAttentionChunk;
      const int count = has_room || in_block - i >= kWidth ? kWidth : in_block - i;
      chunk.groups[chunk.num_groups++] = {k + i, p + i, count};
    }
    p += in_block;
  }
  for (int i = 0; i < 4; ++i) {
    chunk.groups[chunk.num_groups + i] = chunk.groups[chunk.num_groups - 1];
  }
}

template <typename T, int kQueries, typename MaskOf>
QUIRE_INLINE void ScoreGroups(Chunk<T>& chunk, int first_query, int first_group,
                              const MaskOf& mask_of) {
  constexpr int kGroups = PositionGroups(kQueries);
  const KeyGroup<T>* groups = chunk.groups + first_group;
  const std::int64_t block_size = chunk.args.kv.block_size;
  Floats dots[kQueries][kGroups] = {};
  for (std::int64_t d = 0; d < chunk.args.kv.head_dim; ++d) {
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
    if (left == 5) ScoreQueries<T, 5>(chunk, i);
    if (left == 4) ScoreQueries<T, 4>(chunk, i);
  }
  if (left == 3) ScoreQueries<T, 3>(chunk, i);
  if (left == 2) ScoreQueries<T, 2>(chunk, i);
  if (left == 1) ScoreQueries<T, 1>(chunk, i);
}

QUIRE_INLINE Floats Capped(Floats score, float cap) {
  const Floats e = Exp(Multiply(Set(2.0F), Divide(score, Set(cap))));
  const Floats fraction = Divide(Set(2.0F), Add(e, Set(1.0F)));
  return Multiply(Set(cap), Subtract(Set(1.0F), fraction));
}

// A register of positions all of which are visible, or lanes [begin, end) of it.
struct Whole {};
struct Part {
  int begin;
  int end;
};

// Calls step(at, Whole or Part) for registers of the visible positions, which start at a multiple
// of kWidth.
template <typename Step>
QUIRE_INLINE void ForVisible(Visible visible, const Step& step) {
  for (int at = visible.begin / kWidth * kWidth; at < visible.end; at += kWidth) {
    if (at >= visible.begin && at + kWidth <= visible.end) {
      step(at, Whole{});
    } else {
      step(at, Part{visible.begin - at, visible.end - at});
    }
  }
}

// The visible lanes of x; `other` elsewhere.
QUIRE_INLINE Floats Within(Whole, Floats x, Floats) { return x; }
QUIRE_INLINE Floats Within(Part part, Floats x, Floats other) {
  const Floats below = part.end >= kWidth ? x : Select(First(part.end), x, other);
  return part.begin <= 0 ? below : Select(First(part.begin), other, below);
}

// Caps the scores of a query vector; sets the chunk's max of it.
template <typename T>
void FindMax(Chunk<T>& chunk, int i) {
  float* scores = chunk.scores[i];
  const float cap = chunk.args.softcap;
  Floats largest = Set(-__builtin_inff());
  if (cap != 0.0F) {
    ForVisible(chunk.visible[i], [&](int at, auto) QUIRE_INLINE_LAMBDA {
      Store(scores + at, Capped(Load(scores + at), cap));
    });
  }
  ForVisible(chunk.visible[i], [&](int at, auto part) QUIRE_INLINE_LAMBDA {
    largest = Larger(Within(part, Load(scores + at), largest), largest);
  });
  chunk.max[i] = LargestLane(largest);
}

// Turns the scores of a query vector into weights; sets the chunk's sum of it.
template <typename T>
void Weigh(Chunk<T>& chunk, int i) {
  float* scores = chunk.scores[i];
  const Floats max = Set(chunk.max[i]);
  Floats lanes[kParts] = {};
  ForVisible(chunk.visible[i], [&](int at, auto part) QUIRE_INLINE_LAMBDA {
    const Floats e = Exp</*kIsNegative=*/true>(Subtract(Load(scores + at), max));
    const Floats p = Within(part, e, Zero());
    if constexpr (kHasScales<T>) {
      Store(scores + at, Multiply(p, Load(chunk.value_scales + at)));
    } else {
      Store(scores + at, p);
    }
    Floats& lane = lanes[kParts == 1 ? 0 : at / kWidth % kParts];
    lane = Add(lane, p);
  });
  chunk.sum[i] = FoldHalves(lanes);
}

// The state's factors: out = fma(out, a, o * b).
struct Factors {
  float a[kMaxQueries];
  float b[kMaxQueries];
};

// `count` values of Exp, which may be computed past the end of both arrays' first kMaxQueries.
void ExpAll(float* x, int count) {
  for (int i = 0; i < count; i += kWidth) Store(x + i, Exp(Load(x + i)));
}

template <typename T>
void MergeSums(Chunk<T>& chunk, Factors& factors) {
  const AttendArgs& args = chunk.args;
  for (int i = 0; i < kMaxQueries; ++i) factors.a[i] = factors.b[i] = 0.0F;
  for (int i = 0; i < chunk.num_queries; ++i) {
    if (chunk.visible[i].empty()) continue;
    const float max = chunk.max[i] > args.max[i] ? chunk.max[i] : args.max[i];
    factors.a[i] = args.max[i] - max;
    factors.b[i] = chunk.max[i] - max;
    args.max[i] = max;
  }
  ExpAll(factors.a, chunk.num_queries);
  ExpAll(factors.b, chunk.num_queries);
  for (int i = 0; i < chunk.num_queries; ++i) {
    if (chunk.visible[i].empty()) continue;
    args.sum[i] = __builtin_fmaf(args.sum[i], factors.a[i], chunk.sum[i] * factors.b[i]);
  }
}

// A slice of the values' dimensions.
struct Slice {
  std::int64_t first;
  std::int64_t dims;
};

template <int kQueries>
using SliceSums = Floats[kQueries][kValueParts];

// sums[i] += weights of positions [begin, end) times their values.
template <typename T, int kQueries, typename MaskOf>
QUIRE_INLINE void AddPositions(const Chunk<T>& chunk, int query, Visible range, Slice slice,
                               const MaskOf& mask_of, SliceSums<kQueries>& sums) {
  for (int j = range.begin; j < range.end; ++j) {
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
}

// Sums and merges one slice of kQueries query vectors from `query`. Positions that all of them see
// are summed together, those before and after for each alone, in the order of positions.
template <typename T, int kQueries, typename MaskOf>
QUIRE_INLINE void SumSlice(const Chunk<T>& chunk, const Factors& factors, int query, Slice slice,
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
  const AttendArgs& args = chunk.args;
  for (int i = 0; i < kQueries; ++i) {
    if (chunk.visible[query + i].empty()) continue;
    const std::int64_t row = (query + i) / args.heads;
    const std::int64_t head = (query + i) % args.heads;
    float* out = args.out + row * args.out_stride + head * args.kv.value_dim + slice.first;
    for (int part = 0; part < kValueParts; ++part) {
      float* at = out + part * kWidth;
      const auto mask = mask_of(part);
      const Floats scaled = Multiply(sums[i][part], Set(factors.b[query + i]));
      Store(at, Fused(Load(at, mask), Set(factors.a[query + i]), scaled), mask);
    }
  }
}

template <typename T, int kQueries>
void SumValues(const Chunk<T>& chunk, const Factors& factors, int query) {
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
void SumAll(const Chunk<T>& chunk, const Factors& factors) {
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
