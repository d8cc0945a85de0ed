// The specification of paged attention.
#include "kernels/attention.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "kernels/fill.h"
#include "kernels/portable/exp.h"
#include "kernels/portable/plain_types.h"
#include "kernels/table.h"

namespace quire::kernels {
namespace {

template <typename T>
T* KeyAt(const KvHead& kv, std::int64_t block, std::int64_t offset) {
  return reinterpret_cast<T*>(kv.k) + block * kv.k_block_stride + offset;
}

template <typename T>
T* ValueAt(const KvHead& kv, std::int64_t block, std::int64_t offset) {
  return reinterpret_cast<T*>(kv.v) + block * kv.v_block_stride + offset * kv.value_dim;
}

template <typename T>
void WriteKv(const WriteKvArgs& args) {
  const KvHead& kv = args.kv;
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const std::int64_t block = args.slots[r] / kv.block_size;
    const std::int64_t offset = args.slots[r] % kv.block_size;
    T* k = KeyAt<T>(kv, block, offset);
    T* v = ValueAt<T>(kv, block, offset);
    for (std::int64_t d = 0; d < kv.head_dim; ++d) {
      Store(args.k[r * args.k_stride + d], k[d * kv.block_size]);
    }
    for (std::int64_t d = 0; d < kv.value_dim; ++d) Store(args.v[r * args.v_stride + d], v[d]);
  }
}

// Codes of int8 pages are whole numbers; their vectors' scales stand apart.
float Load(const std::int8_t& code) { return code; }

// Where the scale of a slot stands in int8 pages.
std::int8_t* KeyScaleAt(const KvHead& kv, std::int64_t block, std::int64_t offset) {
  return KeyAt<std::int8_t>(kv, block, kv.block_size * kv.head_dim) + offset * kKvScaleBytes;
}
std::int8_t* ValueScaleAt(const KvHead& kv, std::int64_t block, std::int64_t offset) {
  return ValueAt<std::int8_t>(kv, block, kv.block_size) + offset * kKvScaleBytes;
}
float LoadScale(const std::int8_t* at) {
  float scale;
  std::memcpy(&scale, at, sizeof scale);
  return scale;
}

// Codes of n values at out[0], out[stride] and so on; their scale at `scale`.
void WriteCodes(const float* x, std::int64_t n, std::int8_t* out, std::int64_t stride,
                std::int8_t* scale_at) {
  float max = 0.0F;
  bool is_finite = true;
  for (std::int64_t d = 0; d < n; ++d) {
    is_finite = is_finite && std::isfinite(x[d]);
    max = std::fabs(x[d]) > max ? std::fabs(x[d]) : max;
  }
  const bool has_codes = is_finite && max >= kKvTiny;
  float scale = has_codes ? max / kKvCodes : 0.0F;
  if (!is_finite) scale = NAN;
  std::memcpy(scale_at, &scale, sizeof scale);
  const float inverse = has_codes ? kKvCodes / max : 0.0F;
  for (std::int64_t d = 0; d < n; ++d) {
    const float code = has_codes ? std::nearbyint(x[d] * inverse) : 0.0F;
    out[d * stride] = static_cast<std::int8_t>(code);
  }
}

void WriteKvInt8(const WriteKvArgs& args) {
  const KvHead& kv = args.kv;
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const std::int64_t block = args.slots[r] / kv.block_size;
    const std::int64_t offset = args.slots[r] % kv.block_size;
    WriteCodes(args.k + r * args.k_stride, kv.head_dim, KeyAt<std::int8_t>(kv, block, offset),
               kv.block_size, KeyScaleAt(kv, block, offset));
    WriteCodes(args.v + r * args.v_stride, kv.value_dim, ValueAt<std::int8_t>(kv, block, offset), 1,
               ValueScaleAt(kv, block, offset));
  }
}

template <typename T>
constexpr bool kHasScales = std::is_same_v<T, std::int8_t>;

template <typename T>
float Score(const AttendArgs& args, const float* q, std::int64_t position) {
  const KvHead& kv = args.kv;
  const std::int64_t block = args.block_table[position / kv.block_size];
  const T* k = KeyAt<T>(kv, block, position % kv.block_size);
  float dot = 0.0F;
  for (std::int64_t d = 0; d < kv.head_dim; ++d) {
    dot = std::fma(q[d], Load(k[d * kv.block_size]), dot);
  }
  float score = args.scale * dot;
  if constexpr (kHasScales<T>) {
    score *= LoadScale(KeyScaleAt(kv, block, position % kv.block_size));
  }
  if (args.softcap == 0.0F) return score;
  return args.softcap * (1.0F - 2.0F / (Exp(2.0F * (score / args.softcap)) + 1.0F));
}

void Merge(const AttentionState& into, const AttentionState& part, std::int64_t value_dim) {
  if (*part.max == -INFINITY && *part.sum == 0.0F) return;
  const float max = *part.max > *into.max ? *part.max : *into.max;
  const float a = Exp(*into.max - max);
  const float b = Exp(*part.max - max);
  *into.max = max;
  *into.sum = std::fma(*into.sum, a, *part.sum * b);
  for (std::int64_t d = 0; d < value_dim; ++d) {
    into.out[d] = std::fma(into.out[d], a, part.out[d] * b);
  }
}

// Dimensions of a value that are summed at once; the order of a sum does not depend on it.
constexpr int kSlice = 64;

// out[d] of positions [begin, end), whose weights are `p`, and its merging with factors a and b.
template <typename T>
void AddValues(const AttendArgs& args, std::int64_t begin, std::int64_t end, const float* p,
               float a, float b, float* out) {
  const KvHead& kv = args.kv;
  for (std::int64_t first = 0; first < kv.value_dim; first += kSlice) {
    const std::int64_t dims = first + kSlice < kv.value_dim ? kSlice : kv.value_dim - first;
    float sum[kSlice] = {};
    for (std::int64_t j = begin; j < end; ++j) {
      const T* v = ValueAt<T>(kv, args.block_table[j / kv.block_size], j % kv.block_size) + first;
      for (std::int64_t d = 0; d < dims; ++d) sum[d] = std::fma(p[j - begin], Load(v[d]), sum[d]);
    }
    for (std::int64_t d = 0; d < dims; ++d) {
      out[first + d] = std::fma(out[first + d], a, sum[d] * b);
    }
  }
}

// Multiplies the weights of positions [begin, end) by their values' scales.
void ScaleWeights(const AttendArgs& args, std::int64_t begin, std::int64_t end, float* p) {
  const KvHead& kv = args.kv;
  for (std::int64_t j = begin; j < end; ++j) {
    const std::int64_t block = args.block_table[j / kv.block_size];
    p[j - begin] *= LoadScale(ValueScaleAt(kv, block, j % kv.block_size));
  }
}

template <typename T>
void AttendOne(const AttendArgs& args, std::int64_t begin, std::int64_t end, const float* q,
               const AttentionState& state) {
  float p[kAttentionChunk];
  float part_max = -INFINITY;
  for (std::int64_t j = begin; j < end; ++j) {
    p[j - begin] = Score<T>(args, q, j);
    part_max = p[j - begin] > part_max ? p[j - begin] : part_max;
  }
  float lane[kLanes] = {};
  for (std::int64_t j = begin; j < end; ++j) {
    p[j - begin] = Exp(p[j - begin] - part_max);
    lane[j % kLanes] += p[j - begin];
  }
  const float part_sum = FoldHalves(lane);
  if constexpr (kHasScales<T>) ScaleWeights(args, begin, end, p);
  const float max = part_max > *state.max ? part_max : *state.max;
  const float a = Exp(*state.max - max);
  const float b = Exp(part_max - max);
  *state.max = max;
  *state.sum = std::fma(*state.sum, a, part_sum * b);
  AddValues<T>(args, begin, end, p, a, b, state.out);
}

template <typename T>
void Attend(const AttendArgs& args) {
  const std::int64_t chunk_begin = args.chunk * kAttentionChunk;
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const std::int64_t row_end = args.first_end + r;
    const std::int64_t row_begin =
        args.window > 0 && row_end > args.window ? row_end - args.window : 0;
    const std::int64_t begin = row_begin > chunk_begin ? row_begin : chunk_begin;
    const std::int64_t chunk_end = chunk_begin + kAttentionChunk;
    const std::int64_t end = row_end < chunk_end ? row_end : chunk_end;
    if (begin >= end) continue;
    for (std::int64_t h = 0; h < args.heads; ++h) {
      const std::int64_t i = r * args.heads + h;
      AttendOne<T>(
          args, begin, end, args.q + r * args.q_stride + h * args.kv.head_dim,
          {args.max + i, args.sum + i, args.out + r * args.out_stride + h * args.kv.value_dim});
    }
  }
}

}  // namespace

void FillPortableAttention(CpuTable& table) {
  table.write_kv[static_cast<int>(KvType::kF32)] = WriteKv<float>;
  table.write_kv[static_cast<int>(KvType::kF16)] = WriteKv<F16>;
  table.write_kv[static_cast<int>(KvType::kBF16)] = WriteKv<Bf16>;
  table.attend[static_cast<int>(KvType::kF32)] = Attend<float>;
  table.attend[static_cast<int>(KvType::kF16)] = Attend<F16>;
  table.attend[static_cast<int>(KvType::kBF16)] = Attend<Bf16>;
  table.write_kv[static_cast<int>(KvType::kInt8)] = WriteKvInt8;
  table.attend[static_cast<int>(KvType::kInt8)] = Attend<std::int8_t>;
  table.merge_attention = Merge;
}

}  // namespace quire::kernels
