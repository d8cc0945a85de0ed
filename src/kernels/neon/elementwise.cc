// The instances of wide/norm_body.h and wide/elementwise_body.h for this ISA.
#include "kernels/fill.h"
#include "kernels/neon/lanes.h"
#include "kernels/table.h"
#include "kernels/wide/elementwise_body.h"
#include "kernels/wide/norm_body.h"

namespace quire::kernels {

void FillNeonElementwise(CpuTable& table) {
  table.rms_norm = RmsNorm;
  table.layer_norm = LayerNorm;
  table.rope = Rope;
  table.activation[static_cast<int>(ActivationKind::kSilu)] = Activate<Silu>;
  table.activation[static_cast<int>(ActivationKind::kGeluTanh)] = Activate<GeluTanh>;
  table.activation[static_cast<int>(ActivationKind::kRelu)] = Activate<Relu>;
  table.activation[static_cast<int>(ActivationKind::kRelu2)] = Activate<Relu2>;
  table.add = AddValues;
  table.scale = ScaleValues;
  table.arg_max = ArgMax;
  table.sum_exp = SumExp;
}

}  // namespace quire::kernels
