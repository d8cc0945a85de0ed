// Elementwise operators on contiguous f32 values. Contract for every variant.
#pragma once

#include <cstdint>

namespace quire::kernels {

// Exp, as all kernels compute it, to 2 ulp:
//   x > 88.37626 gives infinity, x < -87.33654 gives 0, NaN gives NaN; else
//   n = round to nearest even(x * 1.44269502), r = fma(n, -0.693359375, x),
//   r = fma(n, 2.12194440e-4, r), p = the polynomial of kExpCoefficients in r by fused Horner
//   steps, y = fma(p, r * r, r) + 1, result = y * 2^n.
inline constexpr float kExpMax = 88.37626F;
inline constexpr float kExpMin = -87.33654F;
inline constexpr float kLog2E = 1.44269502F;
inline constexpr float kMinusLn2High = -0.693359375F;
inline constexpr float kMinusLn2Low = 2.12194440e-4F;
// Not inline: a copy per source keeps ISA objects free of shared symbols.
constexpr float kExpCoefficients[] = {1.9875691500e-4F, 1.3981999507e-3F, 8.3334519073e-3F,
                                      4.1665795894e-2F, 1.6666665459e-1F, 5.0000001201e-1F};

inline constexpr float kGeluCubic = 0.044715F;
inline constexpr float kMinusTwoRootTwoOverPi = -1.59576912F;

// In the order of `ops::Activation`. All variants give the same bits:
//   silu       x / (1 + Exp(-x))
//   gelu       0.5 x (1 + erf(x / sqrt 2)), by the C library in double precision
//   gelu_tanh  x / (1 + Exp(u * -1.59576912)), u = fma(0.044715 * (x * x), x, x)
//   relu       x > 0 ? x : 0, so NaN gives 0
//   relu2      relu(x) * relu(x)
enum class ActivationKind { kSilu, kGelu, kGeluTanh, kRelu, kRelu2 };
inline constexpr int kNumActivationKinds = 5;

// out[i] = act(x[i]), or act(x[i]) * up[i] where `up` is not null. `out` may be `x` or `up`.
using ActivationFn = void (*)(const float* x, const float* up, float* out, std::int64_t n);

// out = a + b; `out` may be either.
using AddFn = void (*)(const float* a, const float* b, float* out, std::int64_t n);
// out = x * factor; `out` may be `x`.
using ScaleFn = void (*)(const float* x, float factor, float* out, std::int64_t n);

}  // namespace quire::kernels
