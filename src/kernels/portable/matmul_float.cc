// The specification of products with f32 activations.
#include <cmath>

#include "kernels/fill.h"
#include "kernels/matmul.h"
#include "kernels/portable/exp.h"
#include "kernels/portable/plain_types.h"
#include "kernels/table.h"

namespace quire::kernels {
namespace {

template <typename T>
float Dot(const float* x, const T* w, std::int64_t depth) {
  float lane[kLanes] = {};
  for (std::int64_t i = 0; i < depth; ++i) {
    lane[i % kLanes] = std::fma(x[i], Load(w[i]), lane[i % kLanes]);
  }
  return FoldHalves(lane);
}

template <typename T>
void Matmul(const MatmulFloatArgs& args) {
  const T* weights = reinterpret_cast<const T*>(args.weights);
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const float* x = args.x + r * args.x_stride;
    float* out = args.out + r * args.out_stride;
    for (std::int64_t o = 0; o < args.outputs; ++o) {
      float sum = Dot(x, weights + o * args.depth, args.depth);
      if (args.bias != nullptr) sum += args.bias[o];
      out[o] = args.accumulate ? out[o] + sum : sum;
    }
  }
}

}  // namespace

void FillPortableMatmulFloat(CpuTable& table) {
  table.matmul_float[static_cast<int>(FloatType::kF32)] = Matmul<float>;
  table.matmul_float[static_cast<int>(FloatType::kF16)] = Matmul<F16>;
  table.matmul_float[static_cast<int>(FloatType::kBF16)] = Matmul<Bf16>;
}

}  // namespace quire::kernels
