// Attention over a paged KV cache, and writing to it. Contract for every variant.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quire::kernels {

enum class KvType { kF32, kF16, kBF16, kInt8 };
inline constexpr int kNumKvTypes = 4;

// Positions are attended to in chunks of this many, counted from position 0.
inline constexpr int kAttentionChunk = 128;
// Most query vectors (rows times heads) of one call.
inline constexpr int kMaxQueries = 32;

// One KV head of one layer. Block b starts `block_stride` elements after block b - 1.
//   k: value d of slot s stands at [d * block_size + s], so that one dimension of neighbouring
//      positions is contiguous;
//   v: value d of slot s stands at [s * value_dim + d].
// kInt8: the elements are signed codes, and after a block's codes of the head, in k as in v, come
// block_size f32 scales, that of slot s the s-th, at whatever alignment that is. A vector (one
// token's key or value of one head) is its scale times its codes.
struct KvHead {
  std::byte* k;
  std::byte* v;
  std::int64_t k_block_stride;
  std::int64_t v_block_stride;
  std::int64_t block_size;
  std::int64_t head_dim;
  std::int64_t value_dim;
};

struct WriteKvArgs {
  KvHead kv;
  const float* k;  // [rows, head_dim], row stride `k_stride`
  const float* v;  // [rows, value_dim], row stride `v_stride`
  std::int64_t k_stride;
  std::int64_t v_stride;
  std::int64_t rows;
  const std::int32_t* slots;  // [rows]: block * block_size + offset
};
// Stores rows, rounded to nearest even to the pages' type; what is too large for f16 becomes its
// largest value, with its sign.
// kInt8: with max the largest magnitude in a vector,
//   scale = max / kKvCodes, code = round to nearest even(x * (kKvCodes / max));
//   max < kKvTiny: scale and codes are 0; NaN or infinity in it: scale is NaN, codes are 0.
// So |scale * code - x| <= max / 254 * (1 + 2^-14), or 1e-30, and what is not finite spoils its own
// vector alone: the scores of one position, or what has seen its value. All variants give the same
// bits. Nothing is written but what belongs to the rows: several calls may run at once on other
// rows of the same pages.
using WriteKvFn = void (*)(const WriteKvArgs&);
inline constexpr float kKvCodes = 127.0F;
inline constexpr float kKvTiny = 1e-30F;
inline constexpr int kKvScaleBytes = 4;

// Positions [begin, end) of a request, of one KV head.
struct NextPositions {
  KvHead kv;
  const std::int32_t* block_table;
  std::int64_t begin;
  std::int64_t end;
};

struct AttendArgs {
  KvHead kv;
  const std::int32_t* block_table;  // of the request
  const float* q;                   // rows of heads of head_dim values
  std::int64_t q_stride;            // between rows
  std::int64_t rows;
  std::int64_t heads;  // query heads on this KV head; rows * heads <= kMaxQueries
  // Row r sees positions [max(0, r + first_end - window), r + first_end); window 0: from 0.
  std::int64_t first_end;
  std::int64_t window;
  std::int64_t chunk;  // which chunk of positions this call attends to
  float scale;
  float softcap;  // 0: off
  // The running state of query vector i = r * heads + h, merged into by the call:
  float* max;  // [i], -infinity at first
  float* sum;  // [i], 0 at first
  float* out;  // [i, value_dim], row r at r * out_stride; zeros at first
  std::int64_t out_stride;
  // What will be attended to next, which a variant may ask of memory meanwhile; null: not known.
  const NextPositions* next;
};

// One chunk's part of softmax(scale * q k^T) v. For a query vector that sees positions of the chunk
// (others keep their state), in f32:
//   score_j = scale * (sum over d of q[d] * k_j[d], fused, in order, on one accumulator);
//             with a cap: cap * (1 - 2 / (Exp(2 * (score_j / cap)) + 1));
//   m = largest score_j; p_j = Exp(score_j - m);
//   l = sum of p_j over 16 lanes, position j on lane j % 16, folded by halves;
//   o[d] = sum over j of p_j * v_j[d], fused, in order, on one accumulator.
// Then (m, l, o) is merged into the state as MergeAttentionFn says. All variants give the same
// bits; positions that a vector does not see are not read for it.
// kInt8: k_j[d] and v_j[d] are the codes. Scales stand outside the sums over d: score_j (before a
// cap) is multiplied by the key's scale last, and o[d] sums (p_j * the value's scale) * v_j[d]; l
// has p_j itself. Beside the error of the values that were written this rounds twice a position.
using AttendFn = void (*)(const AttendArgs&);

// The same over kBF16 pages, with q and p rounded to bf16 (nearest even), head_dim even and neither
// dimension above kMaxPairedDim. p_j may be off by 2^-13 of itself before it is rounded; l sums the
// rounded p. score_j sums pairs of dimensions (2i, 2i +
// 1) in order, o[d] pairs of positions (2i, 2i + 1) of the chunk in order, what is not visible
// counting as 0, each pair as the ISA's instruction for bf16 pairs does: denormals are 0. The bits
// depend on the vector and what it sees alone. Beside the same sums of rounded queries in f32, an
// element of out / sum is off by at most 2^-8 + 2^-12 of the largest |v| that is seen.
inline constexpr int kMaxPairedDim = 256;

struct AttentionState {
  float* max;
  float* sum;
  float* out;
};
// into := both: M = max(into.max, part.max), a = Exp(into.max - M), b = Exp(part.max - M),
// sum = fma(into.sum, a, part.sum * b), out[d] = fma(into.out[d], a, part.out[d] * b).
// A part that saw nothing (max is -infinity and sum is 0) changes nothing.
using MergeAttentionFn = void (*)(const AttentionState& into, const AttentionState& part,
                                  std::int64_t value_dim);

}  // namespace quire::kernels
