// Writing to a paged KV cache, over an ISA's lanes.h, which is included first.
//
// Keys stand one dimension after another in their page, so rows that follow one another there are
// turned over kWidth at a time: one register is one dimension of kWidth rows.
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
