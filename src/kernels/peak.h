// The arithmetic that a processor can do at most, as the yardstick of the other kernels. Contract
// for every variant.
#pragma once

#include <cstdint>

namespace quire::kernels {

enum class PeakKind {
  kF32,        // f32 fused multiply-add
  kInt8,       // products of 8-bit integers summed in 32 bits
  kInt8Short,  // products of 4-bit by 8-bit integers, four of them summed in 16 bits first
};
inline constexpr int kNumPeakKinds = 3;

// `run` does `rounds` rounds of nothing but that arithmetic on registers, enough of them at once to
// fill the processor; a multiplication and an addition are two operations.
struct PeakKernel {
  void (*run)(std::int64_t rounds) = nullptr;  // null: the ISA has none of its own
  std::int64_t ops_per_round = 0;
};

}  // namespace quire::kernels
