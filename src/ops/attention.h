// The paged KV cache of one layer, and attention over it.
#pragma once

#include <cstdint>
#include <span>

#include "ops/context.h"
#include "tensor/tensor.h"

namespace quire::ops {

// One layer's pages: k and v are [num_blocks, num_kv_heads, block_size, head_dim] of F32, F16,
// BF16, or I8 with a scale for each token and head. The value head may be of another size than the
// key head. What stands where inside a page is the kernels' own business (keys are stored one
// dimension after another, scales after a head's codes): pages are filled by WriteKv alone, and
// moved whole.
struct KvPages {
  TensorView k;
  TensorView v;
  std::int64_t block_bytes = 0;  // from one block to the next, in k and in v; 0: they are adjacent
};

// Bytes of all pages of that shape: more than the values' where there are scales.
std::size_t KvPageBytes(DType dtype, const Shape& shape);

// What a step's rows attend to, shared by all layers of one KV group.
struct AttentionBatch {
  std::span<const std::int32_t> q_start;  // [num_requests + 1]: first row of each request
  std::span<const std::int32_t>
      context_lens;  // [num_requests]: tokens in the cache with this step's
  std::span<const std::int32_t> block_table;  // [num_requests, max_blocks] block ids
  std::int32_t max_blocks = 0;
  std::span<const std::int32_t> slots;  // [num_rows]: where each row's k and v go
};

// Writes row r of k and v, [rows, num_kv_heads, head_dim] f32, to slot slots[r] of the pages.
void WriteKv(OpContext& ctx, ConstTensorView k, ConstTensorView v,
             std::span<const std::int32_t> slots, const KvPages& pages);

struct AttentionOptions {
  float scale;              // of the scores, before cap and mask
  std::int32_t window = 0;  // a row sees this many latest positions, itself included; 0: all
  float softcap = 0.0F;     // scores become cap * tanh(score / cap); 0: off
  std::span<const float> sinks = {};  // [num_heads]: a logit that takes part in the sum only
};

// out[r] = softmax(scale * q[r] k^T) v over the row's request's cached positions up to its own.
// q, out: [rows, num_heads, head_dim] f32, may not overlap. The last row of request i sees
// positions [0, context_lens[i]), the row before one fewer, and so on; num_heads is a multiple of
// num_kv_heads. A row has the same bits whatever other requests are in the step, however its
// prompt was chunked and however many threads run it. Null blocks outside the window are not read.
void PagedAttention(OpContext& ctx, ConstTensorView q, const KvPages& pages,
                    const AttentionBatch& batch, const AttentionOptions& options, TensorView out);

}  // namespace quire::ops
