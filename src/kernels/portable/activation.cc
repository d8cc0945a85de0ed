// The specification of the elementwise operators.
#include "kernels/activation.h"

#include <cmath>

#include "kernels/fill.h"
#include "kernels/portable/exp.h"
#include "kernels/table.h"

namespace quire::kernels {
namespace {

float Silu(float x) { return x / (1.0F + Exp(-x)); }

float Gelu(float x) {
  const double wide = x;
  return static_cast<float>(0.5 * wide * (1.0 + std::erf(wide * 0.70710678118654752)));
}

float GeluTanh(float x) {
  const float u = std::fma(kGeluCubic * (x * x), x, x);
  return x / (1.0F + Exp(u * kMinusTwoRootTwoOverPi));
}

float Relu(float x) { return x > 0.0F ? x : 0.0F; }

float Relu2(float x) { return Relu(x) * Relu(x); }

template <float (*kFunction)(float)>
void Apply(const float* x, const float* up, float* out, std::int64_t n) {
  if (up == nullptr) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = kFunction(x[i]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) out[i] = kFunction(x[i]) * up[i];
  }
}

void Add(const float* a, const float* b, float* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

void Scale(const float* x, float factor, float* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = x[i] * factor;
}

}  // namespace

void FillPortableActivation(CpuTable& table) {
  table.activation[static_cast<int>(ActivationKind::kSilu)] = Apply<Silu>;
  table.activation[static_cast<int>(ActivationKind::kGelu)] = Apply<Gelu>;
  table.activation[static_cast<int>(ActivationKind::kGeluTanh)] = Apply<GeluTanh>;
  table.activation[static_cast<int>(ActivationKind::kRelu)] = Apply<Relu>;
  table.activation[static_cast<int>(ActivationKind::kRelu2)] = Apply<Relu2>;
  table.add = Add;
  table.scale = Scale;
}

}  // namespace quire::kernels
