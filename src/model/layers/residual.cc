#include "model/layers/residual.h"

#include "ops/elementwise.h"
#include "ops/linear.h"

namespace quire {

void AddToResidual(ops::OpContext& ctx, const Projection& projection, ConstTensorView x,
                   const ResidualBuffers& residual) {
  const bool is_plain = residual.multiplier == 1.0F;
  const ops::LinearJob jobs[] = {{&projection.weight, is_plain ? residual.hidden : residual.scratch,
                                  projection.bias,
                                  /*accumulate=*/is_plain}};
  ops::Linear(ctx, x, jobs);
  if (is_plain) return;
  ops::Scale(ctx, residual.scratch, residual.multiplier, residual.scratch);
  ops::Add(ctx, residual.hidden, residual.scratch, residual.hidden);
}

}  // namespace quire
