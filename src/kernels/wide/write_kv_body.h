// Writing to a paged KV cache, over an ISA's lanes.h, which is included first.
//
// Keys stand one dimension after another in their page, so rows that follow one another there are
// turned over kWidth at a time: one register is one dimension of kWidth rows. With int8 codes the
// lanes of a register are then multiplied by as many scales.
#pragma once

#include "kernels/attention.h"
#include "kernels/wide/types.h"

namespace quire::kernels {
namespace {

// How many rows from `row` on stand next to one another in one page, at most kWidth.
int RunOf(const WriteKvArgs& args, std::int64_t row) {
  const std::int64_t slot = args.slots[row];
  const std::int64_t room = args.kv.block_size - slot % args.kv.block_size;
  int count = 1;
  while (count < kWidth && count < room && row + count < args.rows &&
         args.slots[row + count] == slot + count) {
    ++count;
  }
  return count;
}

// Stores x[0, n) at out[0], out[stride] and so on.
template <typename T>
void Scatter(const float* x, std::int64_t n, T* out, std::int64_t stride) {
  for (std::int64_t d = 0; d < n; d += kWidth) {
    const int count = n - d < kWidth ? static_cast<int>(n - d) : kWidth;
    T values[kWidth];
    Store(values, count == kWidth ? Load(x + d) : Load(x + d, First(count)));
    for (int i = 0; i < count; ++i) out[(d + i) * stride] = values[i];
  }
}

// The largest magnitude of n values; infinity where one is not finite.
float LargestOf(const float* x, std::int64_t n) {
  Floats largest = Zero();
  Floats not_finite = Zero();  // becomes NaN
  for (std::int64_t d = 0; d < n; d += kWidth) {
    const Floats values = n - d >= kWidth ? Load(x + d) : Load(x + d, First(n - d));
    largest = Larger(Larger(values, Subtract(Zero(), values)), largest);
    not_finite = Fused(values, Zero(), not_finite);
  }
  const Floats infinity = Set(__builtin_inff());
  return LargestLane(Select(IsEqual(not_finite, Zero()), largest, infinity));
}

// What kWidth vectors with these largest magnitudes are stored with.
struct CodeScales {
  explicit CodeScales(Floats largest)
      : has_codes(IsGreater(Set(__builtin_inff()), largest)),
        scale(Select(has_codes, Divide(largest, Set(kKvCodes)), Set(__builtin_nanf("")))),
        inverse(Divide(Set(kKvCodes), largest)) {
    const Mask is_tiny = IsGreater(Set(kKvTiny), largest);
    scale = Select(is_tiny, Zero(), scale);
    inverse = Select(is_tiny, Zero(), inverse);
  }
  // Before it is rounded.
  Floats CodeOf(Floats x) const { return Select(has_codes, Multiply(x, inverse), Zero()); }

  Mask has_codes;
  Floats scale;
  Floats inverse;
};

// Stores codes of x[0, n) at out[0], out[stride] and so on, and their scale at `scale`.
void ScatterCodes(const float* x, std::int64_t n, std::int8_t* out, std::int64_t stride,
                  std::int8_t* scale) {
  const CodeScales scales(Set(LargestOf(x, n)));
  for (std::int64_t d = 0; d < n; d += kWidth) {
    const int count = n - d < kWidth ? static_cast<int>(n - d) : kWidth;
    std::int8_t values[kWidth];
    Store(values, scales.CodeOf(count == kWidth ? Load(x + d) : Load(x + d, First(count))));
    for (int i = 0; i < count; ++i) out[(d + i) * stride] = values[i];
  }
  float lanes[kWidth];
  Store(lanes, scales.scale);
  __builtin_memcpy(scale, lanes, kKvScaleBytes);
}

// The keys of kWidth rows that stand next to one another in a page.
void TurnCodes(const WriteKvArgs& args, const float* keys, std::int8_t* k, std::int8_t* scale) {
  float largest[kWidth];
  for (int i = 0; i < kWidth; ++i) {
    largest[i] = LargestOf(keys + i * args.k_stride, args.kv.head_dim);
  }
  const CodeScales scales(Load(largest));
  for (std::int64_t d = 0; d < args.kv.head_dim; ++d) {
    Store(k + d * args.kv.block_size, scales.CodeOf(LoadStrided(keys + d, args.k_stride)));
  }
  Store(largest, scales.scale);
  __builtin_memcpy(scale, largest, sizeof largest);
}

void WriteKvInt8(const WriteKvArgs& args) {
  const KvHead& kv = args.kv;
  for (std::int64_t r = 0; r < args.rows;) {
    const int run = RunOf(args, r);
    const std::int64_t block = args.slots[r] / kv.block_size;
    const std::int64_t offset = args.slots[r] % kv.block_size;
    std::int8_t* k = reinterpret_cast<std::int8_t*>(kv.k) + block * kv.k_block_stride;
    std::int8_t* v = reinterpret_cast<std::int8_t*>(kv.v) + block * kv.v_block_stride;
    std::int8_t* k_scales = k + kv.block_size * kv.head_dim + offset * kKvScaleBytes;
    std::int8_t* v_scales = v + kv.block_size * kv.value_dim + offset * kKvScaleBytes;
    const float* keys = args.k + r * args.k_stride;
    if (run == kWidth) {
      TurnCodes(args, keys, k + offset, k_scales);
    } else {
      for (int i = 0; i < run; ++i) {
        ScatterCodes(keys + i * args.k_stride, kv.head_dim, k + offset + i, kv.block_size,
                     k_scales + i * kKvScaleBytes);
      }
    }
    for (int i = 0; i < run; ++i) {
      ScatterCodes(args.v + (r + i) * args.v_stride, kv.value_dim, v + (offset + i) * kv.value_dim,
                   1, v_scales + i * kKvScaleBytes);
    }
    r += run;
  }
}

template <typename T>
void WriteKv(const WriteKvArgs& args) {
  const KvHead& kv = args.kv;
  for (std::int64_t r = 0; r < args.rows;) {
    const int run = RunOf(args, r);
    const std::int64_t block = args.slots[r] / kv.block_size;
    const std::int64_t offset = args.slots[r] % kv.block_size;
    T* k = reinterpret_cast<T*>(kv.k) + block * kv.k_block_stride + offset;
    T* v = reinterpret_cast<T*>(kv.v) + block * kv.v_block_stride + offset * kv.value_dim;
    const float* keys = args.k + r * args.k_stride;
    if (run == kWidth) {
      for (std::int64_t d = 0; d < kv.head_dim; ++d) {
        Store(k + d * kv.block_size, LoadStrided(keys + d, args.k_stride));
      }
    } else {
      for (int i = 0; i < run; ++i) {
        Scatter(keys + i * args.k_stride, kv.head_dim, k + i, kv.block_size);
      }
    }
    for (int i = 0; i < run; ++i) {
      Scatter(args.v + (r + i) * args.v_stride, kv.value_dim, v + i * kv.value_dim, 1);
    }
    r += run;
  }
}

}  // namespace
}  // namespace quire::kernels
