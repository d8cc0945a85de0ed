#include "model/layers/gated_mlp.h"

#include "ops/gated_mlp.h"

namespace quire {

void GatedMlp::Declare(const ModelConfig& config, const std::string& prefix, WeightMap& weights) {
  const std::int64_t hidden = config.hidden_size, inner = config.intermediate_size;
  if (config.fused_projections) {
    weights.FusedLinear(prefix + "gate_up_proj", hidden, {{&gate_, inner}, {&up_, inner}});
  } else {
    weights.Linear(prefix + "gate_proj", {inner, hidden, config.mlp_bias}, &gate_);
    weights.Linear(prefix + "up_proj", {inner, hidden, config.mlp_bias}, &up_);
  }
  weights.Linear(prefix + "down_proj", {hidden, inner, config.mlp_bias}, &down_);
  activation_ = config.activation;
}

void GatedMlp::Forward(ops::OpContext& ctx, const Buffers& buffers, const ops::InputNorm& norm,
                       const ResidualBuffers& residual) const {
  ops::GatedMlp(ctx, residual.hidden,
                {.gate = {&gate_.weight, buffers.gate, gate_.bias},
                 .up = {&up_.weight, buffers.up, up_.bias},
                 .activation = activation_,
                 .down = ResidualJob(down_, residual)},
                norm);
  FinishResidual(ctx, residual);
}

}  // namespace quire
