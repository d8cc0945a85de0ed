// The gated feed-forward block as one operator.
#pragma once

#include "ops/context.h"
#include "ops/elementwise.h"
#include "ops/linear.h"

namespace quire::ops {

struct GatedMlpJobs {
  LinearJob gate;  // both write [rows, inner], whose contents afterwards are unspecified
  LinearJob up;
  Activation activation;
  LinearJob down;  // its `out` may be x
};

// Runs `down` on act(gate(x)) * up(x), x being normed first where a norm is given. Where weights
// are quantized and rows not few, nothing of the inner width goes through memory: 32 outputs after
// another are multiplied, activated and quantized in a thread's own cache. The bits are those of
// Linear, GatedActivation and Linear.
void GatedMlp(OpContext& ctx, ConstTensorView x, const GatedMlpJobs& jobs,
              const InputNorm& norm = {});

}  // namespace quire::ops
