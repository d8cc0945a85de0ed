// What a block adds to the residual stream.
#pragma once

#include "model/weight_map.h"
#include "ops/context.h"
#include "tensor/tensor.h"

namespace quire {

struct ResidualBuffers {
  TensorView hidden;   // [rows, hidden], grows by what is added
  TensorView scratch;  // the same shape, overwritten; may not overlap the projection's input
  float multiplier = 1.0F;
};

// hidden += multiplier * (x W^T + b).
void AddToResidual(ops::OpContext& ctx, const Projection& projection, ConstTensorView x,
                   const ResidualBuffers& residual);

}  // namespace quire
