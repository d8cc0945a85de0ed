// 16-bit floating point as storage: IEEE half and bfloat16, with exact conversions.
#pragma once

#include <bit>
#include <cstdint>

namespace quire {

struct F16 {
  std::uint16_t bits;
};
struct Bf16 {
  std::uint16_t bits;
};

constexpr float ToFloat(Bf16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

// Rounds to nearest, ties to even; NaN stays NaN.
constexpr Bf16 ToBf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return Bf16{static_cast<std::uint16_t>((bits >> 16) | 64)};
  return Bf16{static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16)};
}

constexpr float ToFloat(F16 value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000) << 16;
  const std::uint32_t exponent = (value.bits >> 10) & 31;
  const std::uint32_t mantissa = value.bits & 0x3FF;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000 | (mantissa << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  // Zero and subnormals: mantissa * 2^-24.
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
  return sign != 0 ? -magnitude : magnitude;
}

// Rounds to nearest, ties to even; what is too large becomes infinity, NaN stays NaN.
constexpr F16 ToF16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const std::uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return F16{static_cast<std::uint16_t>(sign | 0x7E00)};
  if (magnitude >= 0x477FF000) return F16{static_cast<std::uint16_t>(sign | 0x7C00)};
  if (magnitude < 0x38800000) {  // below 2^-14: subnormal, a multiple of 2^-24
    // Adding 0.5 leaves the value's multiple of 2^-24 in the low mantissa bits, rounded to even.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return F16{static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) & 0x7FF))};
  }
  const std::uint32_t rounded = magnitude + 0xFFF + ((magnitude >> 13) & 1) - (112U << 23);
  return F16{static_cast<std::uint16_t>(sign | (rounded >> 13))};
}

}  // namespace quire
