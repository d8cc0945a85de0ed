// As avx2/peak.cc, with enough accumulators for four units of a latency of four.
#pragma once

#include <cstdint>

#include <arm_neon.h>

#include "kernels/wide/types.h"

namespace quire::kernels {
namespace {

constexpr int kAccumulators = 16;

// `rounds` times, sum = step(sum) for each accumulator.
template <typename Register, typename Step>
QUIRE_INLINE void RunAccumulators(std::int64_t rounds, const Step& step) {
  Register sums[kAccumulators] = {};
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 16
    for (Register& sum : sums) {
      sum = step(sum);
      asm volatile("" : "+w"(sum));
    }
  }
}

}  // namespace
}  // namespace quire::kernels
