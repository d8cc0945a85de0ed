// What a block adds to the residual stream.
#pragma once

#include "model/weight_map.h"
#include "ops/context.h"
#include "ops/linear.h"
#include "tensor/tensor.h"

namespace quire {

struct ResidualBuffers {
  TensorView hidden;   // [rows, hidden], grows by what is added
  TensorView scratch;  // the same shape, overwritten; may not overlap the projection's input
  float multiplier = 1.0F;
};

// The product that hands x W^T + b on to the residual, and what is left to do after it has run:
// together hidden += multiplier * (x W^T + b).
ops::LinearJob ResidualJob(const Projection& projection, const ResidualBuffers& residual);
void FinishResidual(ops::OpContext& ctx, const ResidualBuffers& residual);

}  // namespace quire
