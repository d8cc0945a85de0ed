// Products with int8 activations on tiles of 8 outputs by `sdot` (neon/rows.h, neon_dot/product.h).
#include "kernels/fill.h"
#include "kernels/neon/panel_rows.h"
#include "kernels/neon/rows.h"
#include "kernels/neon_dot/product.h"

namespace quire::kernels {
namespace {

template <typename Codec>
struct DotKernel {
  static void Matmul(const MatmulQuantArgs& args) { MultiplyTiles<DotProduct, Codec>(args); }
};

}  // namespace

void FillNeonDotMatmulQuant(CpuTable& table) { SetMatmulQuant<DotKernel>(table); }

}  // namespace quire::kernels
