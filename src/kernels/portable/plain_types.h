// Values of plain types as f32 and back, under one interface for templates.
#pragma once

#include <cstdint>

#include "base/half.h"

namespace quire::kernels {
namespace {

inline float Load(const float& value) { return value; }
inline float Load(const F16& value) { return ToFloat(value); }
inline float Load(const Bf16& value) { return ToFloat(value); }

inline void Store(float value, float& out) { out = value; }
// What is too large for a half becomes its largest value, for an infinity would make NaNs of all
// that is computed from it; NaN stays NaN.
inline void Store(float value, F16& out) {
  constexpr float kLargest = 65504.0F;
  if (value > kLargest) value = kLargest;
  if (value < -kLargest) value = -kLargest;
  out = ToF16(value);
}
inline void Store(float value, Bf16& out) { out = ToBf16(value); }

}  // namespace
}  // namespace quire::kernels
