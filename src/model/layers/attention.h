// Self-attention of one layer over the paged KV cache.
#pragma once

#include <cstdint>
#include <string>

#include "model/layers/residual.h"
#include "model/layers/rotary.h"
#include "model/model_config.h"
#include "model/weight_map.h"
#include "ops/attention.h"
#include "ops/context.h"
#include "tensor/tensor.h"

namespace quire {

// What one step gives every attention layer.
struct AttentionStep {
  std::span<const std::int32_t> positions;  // [rows]
  ops::RopeTable rope;
};

// Buffers of one step's rows; q, k, v and out may not overlap one another.
struct AttentionBuffers {
  TensorView q;    // [rows, num_heads, head_dim]
  TensorView k;    // [rows, num_kv_heads, head_dim]
  TensorView v;    // as k
  TensorView out;  // as q
};

class AttentionLayer {
 public:
  // Declares the weights of layer `layer_idx`, named PREFIX + "q_proj" and so on.
  void Declare(const ModelConfig& config, std::int64_t layer_idx, const std::string& prefix,
               WeightMap& weights);

  // Adds attention(x) to the residual; x is [rows, hidden] and may be the residual's scratch.
  // Writes the rows' K and V to `pages`.
  void Forward(ops::OpContext& ctx, const AttentionStep& step, const ops::AttentionBatch& batch,
               const ops::KvPages& pages, const AttentionBuffers& buffers, ConstTensorView x,
               const ResidualBuffers& residual) const;

 private:
  Projection q_, k_, v_, o_;
  ConstTensorView q_norm_, k_norm_;  // [head_dim], or empty
  float norm_eps_ = 0.0F;
  bool has_rope_ = true;
  ops::AttentionOptions options_ = {};
};

}  // namespace quire
