// The gated feed-forward block: down(act(gate(x)) * up(x)).
#pragma once

#include <string>

#include "model/layers/residual.h"
#include "model/model_config.h"
#include "model/weight_map.h"
#include "ops/context.h"
#include "ops/elementwise.h"
#include "tensor/tensor.h"

namespace quire {

class GatedMlp {
 public:
  // Declares PREFIX + "gate_proj", "up_proj" and "down_proj".
  void Declare(const ModelConfig& config, const std::string& prefix, WeightMap& weights);

  // Adds mlp(norm(residual)) to the residual; gate and up [rows, intermediate] are overwritten.
  struct Buffers {
    TensorView gate;
    TensorView up;
  };
  void Forward(ops::OpContext& ctx, const Buffers& buffers, const ops::InputNorm& norm,
               const ResidualBuffers& residual) const;

 private:
  Projection gate_, up_, down_;
  ops::Activation activation_ = ops::Activation::kSilu;
};

}  // namespace quire
