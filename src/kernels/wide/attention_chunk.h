// One chunk of positions of paged attention: what it reads, who sees what of it, and its softmax.
// Over an ISA's lanes.h, which is included first; wide/attention_body.h has the products.
#pragma once

#include "kernels/attention.h"
#include "kernels/wide/exp_body.h"
#include "kernels/wide/parts.h"
#include "kernels/wide/types.h"

namespace quire::kernels {
namespace {

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

// Asks memory for what is attended to next, some cache lines at a time, so that one chunk is
// fetched while another is computed: pages lie anywhere, and no processor foresees the next.
template <typename T>
class Ahead {
 public:
  explicit Ahead(const NextPositions* next) : next_(next) {
    if (next == nullptr || next->begin >= next->end) return;
    block_ = next->begin / next->kv.block_size;
    last_block_ = (next->end - 1) / next->kv.block_size;
    Enter(next->kv.k, next->kv.k_block_stride, next->kv.head_dim);
  }

  template <int kLines>
  QUIRE_INLINE void Touch() {
    if (at_ == nullptr) return;
#pragma GCC unroll 8
    for (int i = 0; i < kLines; ++i) __builtin_prefetch(at_ + i * kLineBytes, 0, 2);
    at_ += kLines * kLineBytes;
    if (at_ >= end_) Advance();
  }

 private:
  static constexpr std::int64_t kLineBytes = 64;

  void Enter(const std::byte* pages, std::int64_t stride, std::int64_t dim) {
    const std::int64_t size = static_cast<std::int64_t>(sizeof(T));
    at_ = pages + next_->block_table[block_] * stride * size;
    end_ = at_ + next_->kv.block_size * (dim * size + (kHasScales<T> ? kKvScaleBytes : 0));
  }

  // The values of a block come after its keys.
  [[gnu::noinline]] void Advance() {
    is_value_ = !is_value_;
    if (!is_value_) ++block_;
    if (block_ > last_block_) {
      at_ = nullptr;
    } else if (is_value_) {
      Enter(next_->kv.v, next_->kv.v_block_stride, next_->kv.value_dim);
    } else {
      Enter(next_->kv.k, next_->kv.k_block_stride, next_->kv.head_dim);
    }
  }

  const NextPositions* next_;
  std::int64_t block_ = 0;
  std::int64_t last_block_ = -1;
  bool is_value_ = false;
  const std::byte* at_ = nullptr;  // null: there is nothing more
  const std::byte* end_ = nullptr;
};

template <typename T>
struct Chunk {
  explicit Chunk(const AttendArgs& attend_args)
      : args(attend_args),
        ahead(attend_args.next),
        num_queries(static_cast<int>(args.rows * args.heads)) {}

  const AttendArgs& args;
  Ahead<T> ahead;
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
QUIRE_INLINE void CopyScales(const std::int8_t* codes, std::int64_t num_codes, std::int64_t offset,
                             int count, float* out) {
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

// Calls step(at, part, Whole or Part) in order for each register that holds a visible position:
// `at` is its first position, a multiple of kWidth, and `part` which of the kParts registers it is
// that hold 16 lanes.
template <typename Step>
QUIRE_INLINE void ForVisible(Visible visible, const Step& step) {
  const auto step_at_edge = [&](int begin) QUIRE_INLINE_LAMBDA {
#pragma GCC unroll 4
    for (int part = 0; part < kParts; ++part) {
      const int at = begin + part * kWidth;
      if (at < visible.end && at + kWidth > visible.begin) {
        step(at, part, Part{visible.begin - at, visible.end - at});
      }
    }
  };
  int at = visible.begin / kLanes * kLanes;
  if (at < visible.begin) {
    step_at_edge(at);
    at += kLanes;
  }
  for (; at + kLanes <= visible.end; at += kLanes) {
#pragma GCC unroll 4
    for (int part = 0; part < kParts; ++part) step(at + part * kWidth, part, Whole{});
  }
  if (at < visible.end) step_at_edge(at);
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
    ForVisible(chunk.visible[i], [&](int at, int, auto) QUIRE_INLINE_LAMBDA {
      Store(scores + at, Capped(Load(scores + at), cap));
    });
  }
  ForVisible(chunk.visible[i], [&](int at, int, auto part) QUIRE_INLINE_LAMBDA {
    largest = Larger(Within(part, Load(scores + at), largest), largest);
  });
  chunk.max[i] = LargestLane(largest);
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

// A slice of the values' dimensions, at most kSlice.
struct Slice {
  std::int64_t first;
  std::int64_t dims;
};
constexpr int kValueParts = 4;  // registers of one slice
constexpr int kSlice = kValueParts * kWidth;

template <int kQueries>
using SliceSums = Floats[kQueries][kValueParts];

// Merges one slice's sums of kQueries query vectors from `query` into the state.
template <typename T, int kQueries, typename MaskOf>
QUIRE_INLINE void MergeOut(const Chunk<T>& chunk, const Factors& factors, int query, Slice slice,
                           const MaskOf& mask_of, const SliceSums<kQueries>& sums) {
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

}  // namespace
}  // namespace quire::kernels
