#include "model/layers/attention.h"

#include <cmath>

#include "base/log.h"

namespace quire {
namespace {

// [rows, heads, head_dim] as [rows, heads * head_dim].
TensorView Flat(const TensorView& x) { return F32View(x.f32(), {x.dim(0), x.dim(1) * x.dim(2)}); }

}  // namespace

void AttentionLayer::Declare(const ModelConfig& config, std::int64_t layer_idx,
                             const std::string& prefix, WeightMap& weights) {
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t q_size = config.num_heads * config.head_dim;
  const std::int64_t kv_size = config.num_kv_heads * config.head_dim;
  if (config.fused_projections) {
    weights.FusedLinear(prefix + "qkv_proj", hidden,
                        {{&q_, q_size}, {&k_, kv_size}, {&v_, kv_size}});
  } else {
    weights.Linear(prefix + "q_proj", {q_size, hidden, config.qkv_bias}, &q_);
    weights.Linear(prefix + "k_proj", {kv_size, hidden, config.qkv_bias}, &k_);
    weights.Linear(prefix + "v_proj", {kv_size, hidden, config.qkv_bias}, &v_);
  }
  weights.Linear(prefix + "o_proj", {hidden, q_size, config.output_bias}, &o_);
  if (config.qk_norm) {
    weights.Vector(prefix + "q_norm.weight", config.head_dim, &q_norm_);
    weights.Vector(prefix + "k_norm.weight", config.head_dim, &k_norm_);
  }
  norm_eps_ = static_cast<float>(config.norm_eps);
  has_rope_ = HasRope(config, layer_idx);
  const double default_scale = 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  options_.scale = static_cast<float>(config.attention_scale.value_or(default_scale));
  options_.window = static_cast<std::int32_t>(WindowOf(config, layer_idx));
}

void AttentionLayer::Forward(ops::OpContext& ctx, const AttentionStep& step,
                             const ops::AttentionBatch& batch, const ops::KvPages& pages,
                             const AttentionBuffers& buffers, const ops::InputNorm& norm,
                             const ResidualBuffers& residual) const {
  const ops::LinearJob qkv[] = {{&q_.weight, Flat(buffers.q), q_.bias},
                                {&k_.weight, Flat(buffers.k), k_.bias},
                                {&v_.weight, Flat(buffers.v), v_.bias}};
  ops::Linear(ctx, residual.hidden, qkv, norm);
  FinishKv(ctx, step, batch, pages, buffers);
  FinishQueries(ctx, step, batch, pages, buffers, residual);
}

void AttentionLayer::WriteKv(ops::OpContext& ctx, const AttentionStep& step,
                             const ops::AttentionBatch& batch, const ops::KvPages& pages,
                             const AttentionBuffers& buffers, const ops::InputNorm& norm,
                             const ResidualBuffers& residual) const {
  const ops::LinearJob kv[] = {{&k_.weight, Flat(buffers.k), k_.bias},
                               {&v_.weight, Flat(buffers.v), v_.bias}};
  ops::Linear(ctx, residual.hidden, kv, norm);
  FinishKv(ctx, step, batch, pages, buffers);
}

void AttentionLayer::Attend(ops::OpContext& ctx, const AttentionStep& step,
                            const ops::AttentionBatch& batch, const ops::KvPages& pages,
                            const AttentionBuffers& buffers, const ops::InputNorm& norm,
                            const ResidualBuffers& residual) const {
  const ops::LinearJob q[] = {{&q_.weight, Flat(buffers.q), q_.bias}};
  ops::Linear(ctx, residual.hidden, q, norm);
  FinishQueries(ctx, step, batch, pages, buffers, residual);
}

void AttentionLayer::FinishKv(ops::OpContext& ctx, const AttentionStep& step,
                              const ops::AttentionBatch& batch, const ops::KvPages& pages,
                              const AttentionBuffers& buffers) const {
  if (!k_norm_.empty()) ops::RmsNorm(ctx, buffers.k, k_norm_, norm_eps_, buffers.k);
  if (has_rope_) ops::Rope(ctx, step.rope, step.positions, buffers.k);
  ops::WriteKv(ctx, buffers.k, buffers.v, batch.slots, pages);
}

void AttentionLayer::FinishQueries(ops::OpContext& ctx, const AttentionStep& step,
                                   const ops::AttentionBatch& batch, const ops::KvPages& pages,
                                   const AttentionBuffers& buffers,
                                   const ResidualBuffers& residual) const {
  if (!q_norm_.empty()) ops::RmsNorm(ctx, buffers.q, q_norm_, norm_eps_, buffers.q);
  if (has_rope_) ops::Rope(ctx, step.rope, step.positions, buffers.q);
  ops::PagedAttention(ctx, buffers.q, pages, batch, options_, buffers.out);
  const ops::LinearJob out[] = {ResidualJob(o_, residual)};
  ops::Linear(ctx, Flat(buffers.out), out);
  FinishResidual(ctx, residual);
}

void NarrowStep::Set(const AttentionStep& whole, const ops::AttentionBatch& batch,
                     std::span<const std::int32_t> kept) {
  positions_.clear();
  for (const std::int32_t row : kept) {
    positions_.push_back(whole.positions[static_cast<std::size_t>(row)]);
  }
  q_start_.assign(1, 0);
  auto next = kept.begin();
  for (const std::int32_t end : batch.q_start.subspan(1)) {
    const auto first = next;
    while (next != kept.end() && *next < end) ++next;
    QUIRE_DCHECK(first == next || *first == end - (next - first)) << "not a request's last rows";
    q_start_.push_back(static_cast<std::int32_t>(next - kept.begin()));
  }
  step_ = {positions_, whole.rope};
  batch_ = batch;
  batch_.q_start = q_start_;
  batch_.slots = {};
}

}  // namespace quire
