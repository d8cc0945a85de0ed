// The loop of the peak kernels (kernels/peak.h): accumulators that depend on nothing but
// themselves, as many as fill the units of the processor over the latency of an instruction.
#pragma once

#include <cstdint>

#include "kernels/wide/types.h"

namespace quire::kernels {
namespace {

// Claims to change a register, so that the compiler takes no loop apart.
template <typename Register>
QUIRE_INLINE void Change(Register& x) {
#ifdef __aarch64__
  asm volatile("" : "+w"(x));
#else
  asm volatile("" : "+v"(x));
#endif
}

// `rounds` times, sum = step(sum) for each accumulator.
template <int kAccumulators, typename Register, typename Step>
QUIRE_INLINE void RunAccumulators(std::int64_t rounds, const Step& step) {
  Register sums[kAccumulators] = {};
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 16
    for (Register& sum : sums) {
      sum = step(sum);
      Change(sum);
    }
  }
}

}  // namespace
}  // namespace quire::kernels
