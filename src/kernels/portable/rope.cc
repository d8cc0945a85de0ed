// The specification of rotary embedding.
#include "kernels/rope.h"

#include <cmath>

#include "kernels/fill.h"
#include "kernels/table.h"

namespace quire::kernels {
namespace {

void Turn(float& a, float& b, float c, float s) {
  const float old_a = a;
  a = std::fma(a, c, -(b * s));
  b = std::fma(b, c, old_a * s);
}

void Rope(const RopeArgs& args) {
  const std::int64_t pairs = args.rotary_dim / 2;
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const float* cosines = args.cos_sin + args.positions[r] * args.rotary_dim;
    const float* sines = cosines + pairs;
    for (std::int64_t h = 0; h < args.heads; ++h) {
      float* x = args.x + (r * args.heads + h) * args.head_dim;
      for (std::int64_t i = 0; i < pairs; ++i) {
        float& a = args.is_interleaved ? x[2 * i] : x[i];
        float& b = args.is_interleaved ? x[2 * i + 1] : x[i + pairs];
        Turn(a, b, cosines[i], sines[i]);
      }
    }
  }
}

}  // namespace

void FillPortableRope(CpuTable& table) { table.rope = Rope; }

}  // namespace quire::kernels
