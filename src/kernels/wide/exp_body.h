// Exp on a register, as kernels/activation.h defines it. Include after an ISA's lanes.h.
#pragma once

#include "kernels/activation.h"

namespace quire::kernels {
namespace {

// kIsNegative: no x is above 0.
template <bool kIsNegative = false>
QUIRE_INLINE Floats Exp(Floats x) {
  const Floats n = RoundToEven(Multiply(x, Set(kLog2E)));
  Floats r = Fused(n, Set(kMinusLn2High), x);
  r = Fused(n, Set(kMinusLn2Low), r);
  Floats p = Set(kExpCoefficients[0]);
#pragma GCC unroll 5
  for (int i = 1; i < 6; ++i) p = Fused(p, r, Set(kExpCoefficients[i]));
  const Floats y = Add(Fused(p, Multiply(r, r), r), Set(1.0F));
  Floats result = ScaleByPower(y, n);
  if constexpr (!kIsNegative) {
    result = Select(IsGreater(x, Set(kExpMax)), Set(__builtin_inff()), result);
  }
  return ZeroWhere(IsGreater(Set(kExpMin), x), result);
}

}  // namespace
}  // namespace quire::kernels
