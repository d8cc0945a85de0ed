// Exp and the folding of lanes, as the contracts define them.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/activation.h"

namespace quire::kernels {
namespace {

constexpr int kLanes = 16;  // of every f32 reduction

inline float Exp(float x) {
  if (std::isnan(x)) return x;
  if (x > kExpMax) return INFINITY;
  if (x < kExpMin) return 0.0F;
  const float n = std::nearbyint(x * kLog2E);
  float r = std::fma(n, kMinusLn2High, x);
  r = std::fma(n, kMinusLn2Low, r);
  float p = kExpCoefficients[0];
  for (int i = 1; i < 6; ++i) p = std::fma(p, r, kExpCoefficients[i]);
  const float y = std::fma(p, r * r, r) + 1.0F;
  // 2^n as a float: n is in [-126, 127].
  const std::int32_t bits = (static_cast<std::int32_t>(n) + 127) * (1 << 23);
  float power;
  std::memcpy(&power, &bits, sizeof power);
  return y * power;
}

// 16 -> 8 -> 4 -> 2 -> 1, lane l taking lane l + half.
inline float FoldHalves(float* lane) {
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
  }
  return lane[0];
}

}  // namespace
}  // namespace quire::kernels
