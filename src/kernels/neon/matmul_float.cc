// The instance of wide/matmul_float_body.h for this ISA.
#include "kernels/fill.h"
#include "kernels/neon/lanes.h"
#include "kernels/table.h"
#include "kernels/wide/matmul_float_body.h"

namespace quire::kernels {

void FillNeonMatmulFloat(CpuTable& table) {
  table.matmul_float[static_cast<int>(FloatType::kF32)] = MatmulFloat<float>;
  table.matmul_float[static_cast<int>(FloatType::kF16)] = MatmulFloat<F16Bits>;
  table.matmul_float[static_cast<int>(FloatType::kBF16)] = MatmulFloat<Bf16Bits>;
}

}  // namespace quire::kernels
