// Row normalisations over an ISA's lanes.h, which is included first.
#pragma once

#include "kernels/norm.h"
#include "kernels/wide/parts.h"

namespace quire::kernels {
namespace {

float SumOf(const float* x, std::int64_t n) {
  Floats lanes[kParts] = {};
  ForParts(n, [&](int part, std::int64_t i, auto mask)
                  QUIRE_INLINE_LAMBDA { lanes[part] = Add(lanes[part], Load(x + i, mask)); });
  return FoldHalves(lanes);
}

// sum((x - center)^2)
float SumSquares(const float* x, float center, std::int64_t n) {
  Floats lanes[kParts] = {};
  ForParts(n, [&](int part, std::int64_t i, auto mask) QUIRE_INLINE_LAMBDA {
    const Floats d = Select(mask, Subtract(Load(x + i, mask), Set(center)), Zero());
    lanes[part] = Fused(d, d, lanes[part]);
  });
  return FoldHalves(lanes);
}

float InverseRoot(float sum_squares, std::int64_t dim, float eps) {
  return 1.0F / __builtin_sqrtf(sum_squares / static_cast<float>(dim) + eps);
}

void RmsNorm(const RmsNormArgs& args) {
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const float* x = args.x + r * args.x_stride;
    float* out = args.out + r * args.out_stride;
    const Floats scale = Set(InverseRoot(SumSquares(x, 0.0F, args.dim), args.dim, args.eps));
    ForParts(args.dim, [&](int, std::int64_t i, auto mask) QUIRE_INLINE_LAMBDA {
      const Floats scaled = Multiply(Load(x + i, mask), scale);
      Store(out + i, Multiply(scaled, Load(args.weight + i, mask)), mask);
    });
  }
}

void LayerNorm(const LayerNormArgs& args) {
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const float* x = args.x + r * args.x_stride;
    float* out = args.out + r * args.out_stride;
    const float mean = SumOf(x, args.dim) / static_cast<float>(args.dim);
    const Floats scale = Set(InverseRoot(SumSquares(x, mean, args.dim), args.dim, args.eps));
    ForParts(args.dim, [&](int, std::int64_t i, auto mask) QUIRE_INLINE_LAMBDA {
      const Floats normed = Multiply(Subtract(Load(x + i, mask), Set(mean)), scale);
      const Floats weight = Load(args.weight + i, mask);
      const Floats y = args.bias != nullptr ? Fused(normed, weight, Load(args.bias + i, mask))
                                            : Multiply(normed, weight);
      Store(out + i, y, mask);
    });
  }
}

}  // namespace
}  // namespace quire::kernels
