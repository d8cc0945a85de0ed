// Storage types as the vector code sees them: bits that its loads widen.
#pragma once

#include <cstdint>

#define QUIRE_INLINE [[gnu::always_inline]] inline
// After a lambda's parameters.
#define QUIRE_INLINE_LAMBDA __attribute__((always_inline))

namespace quire::kernels {
namespace {

enum class F16Bits : std::uint16_t {};
enum class Bf16Bits : std::uint16_t {};

// In a mask's place where all lanes are on: masked accesses are slow on some processors.
struct AllLanes {};

constexpr int kLanes = 16;  // of every f32 reduction, in registers of kWidth lanes

}  // namespace
}  // namespace quire::kernels
