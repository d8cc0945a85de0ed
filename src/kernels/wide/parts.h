// Walking over values register by register, over an ISA's lanes.h, which is included first.
#pragma once

#include <cstdint>

#include "kernels/wide/types.h"

namespace quire::kernels {
namespace {

constexpr int kParts = kLanes / kWidth;  // registers that hold the lanes of one reduction

// Calls step(part, index, mask) for each register of [0, n), in the order of the lanes.
template <typename Step>
QUIRE_INLINE void ForParts(std::int64_t n, const Step& step) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma GCC unroll 4
    for (int part = 0; part < kParts; ++part) step(part, i + part * kWidth, AllLanes{});
  }
#pragma GCC unroll 4
  for (int part = 0; part < kParts; ++part) {
    const std::int64_t at = i + part * kWidth;
    if (at < n) step(part, at, First(n - at));
  }
}

}  // namespace
}  // namespace quire::kernels
