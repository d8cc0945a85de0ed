// Self-attention of one layer over the paged KV cache.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

// What is left of a step when only some rows go on, of each request some of its last ones.
class NarrowStep {
 public:
  // `kept` rises; `whole` and what `batch` points to must outlive the use of the results.
  void Set(const AttentionStep& whole, const ops::AttentionBatch& batch,
           std::span<const std::int32_t> kept);

  const AttentionStep& step() const { return step_; }
  const ops::AttentionBatch& batch() const { return batch_; }

 private:
  std::vector<std::int32_t> positions_;
  std::vector<std::int32_t> q_start_;
  AttentionStep step_;
  ops::AttentionBatch batch_;
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

  // Adds attention(norm(residual)) to the residual. Writes the rows' K and V to `pages`.
  void Forward(ops::OpContext& ctx, const AttentionStep& step, const ops::AttentionBatch& batch,
               const ops::KvPages& pages, const AttentionBuffers& buffers,
               const ops::InputNorm& norm, const ResidualBuffers& residual) const;
  // The two halves of it, between which rows may be left out.
  void WriteKv(ops::OpContext& ctx, const AttentionStep& step, const ops::AttentionBatch& batch,
               const ops::KvPages& pages, const AttentionBuffers& buffers,
               const ops::InputNorm& norm, const ResidualBuffers& residual) const;
  void Attend(ops::OpContext& ctx, const AttentionStep& step, const ops::AttentionBatch& batch,
              const ops::KvPages& pages, const AttentionBuffers& buffers,
              const ops::InputNorm& norm, const ResidualBuffers& residual) const;

 private:
  void FinishKv(ops::OpContext& ctx, const AttentionStep& step, const ops::AttentionBatch& batch,
                const ops::KvPages& pages, const AttentionBuffers& buffers) const;
  void FinishQueries(ops::OpContext& ctx, const AttentionStep& step,
                     const ops::AttentionBatch& batch, const ops::KvPages& pages,
                     const AttentionBuffers& buffers, const ResidualBuffers& residual) const;

  Projection q_, k_, v_, o_;
  ConstTensorView q_norm_, k_norm_;  // [head_dim], or empty
  float norm_eps_ = 0.0F;
  bool has_rope_ = true;
  ops::AttentionOptions options_ = {};
};

}  // namespace quire
