#include "model/layers/residual.h"

#include "ops/elementwise.h"

namespace quire {

ops::LinearJob ResidualJob(const Projection& projection, const ResidualBuffers& residual) {
  const bool is_plain = residual.multiplier == 1.0F;
  return {&projection.weight, is_plain ? residual.hidden : residual.scratch, projection.bias,
          /*accumulate=*/is_plain};
}

void FinishResidual(ops::OpContext& ctx, const ResidualBuffers& residual) {
  if (residual.multiplier == 1.0F) return;
  ops::Scale(ctx, residual.scratch, residual.multiplier, residual.scratch);
  ops::Add(ctx, residual.hidden, residual.scratch, residual.hidden);
}

}  // namespace quire
