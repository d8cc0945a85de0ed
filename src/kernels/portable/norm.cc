// The specification of the norms: the order of the sums is visible, nothing else is.
#include "kernels/norm.h"

#include <cmath>

#include "kernels/fill.h"
#include "kernels/portable/exp.h"
#include "kernels/table.h"

namespace quire::kernels {
namespace {

float Sum(const float* x, std::int64_t n) {
  float lane[kLanes] = {};
  for (std::int64_t i = 0; i < n; ++i) lane[i % kLanes] += x[i];
  return FoldHalves(lane);
}

// sum((x - center)^2)
float SumSquares(const float* x, float center, std::int64_t n) {
  float lane[kLanes] = {};
  for (std::int64_t i = 0; i < n; ++i) {
    const float d = x[i] - center;
    lane[i % kLanes] = std::fma(d, d, lane[i % kLanes]);
  }
  return FoldHalves(lane);
}

float InverseRoot(float sum_squares, std::int64_t dim, float eps) {
  return 1.0F / std::sqrt(sum_squares / static_cast<float>(dim) + eps);
}

void RmsNorm(const RmsNormArgs& args) {
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const float* x = args.x + r * args.x_stride;
    float* out = args.out + r * args.out_stride;
    const float scale = InverseRoot(SumSquares(x, 0.0F, args.dim), args.dim, args.eps);
    for (std::int64_t i = 0; i < args.dim; ++i) out[i] = (x[i] * scale) * args.weight[i];
  }
}

void LayerNorm(const LayerNormArgs& args) {
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const float* x = args.x + r * args.x_stride;
    float* out = args.out + r * args.out_stride;
    const float mean = Sum(x, args.dim) / static_cast<float>(args.dim);
    const float scale = InverseRoot(SumSquares(x, mean, args.dim), args.dim, args.eps);
    for (std::int64_t i = 0; i < args.dim; ++i) {
      const float normed = (x[i] - mean) * scale;
      out[i] = args.bias != nullptr ? std::fma(normed, args.weight[i], args.bias[i])
                                    : normed * args.weight[i];
    }
  }
}

}  // namespace

void FillPortableNorm(CpuTable& table) {
  table.rms_norm = RmsNorm;
  table.layer_norm = LayerNorm;
}

}  // namespace quire::kernels
