// Four products and their sum in one instruction. `sdot` by element takes four values of a row from
// any quarter of a register: 16 values are loaded once and meet four groups of weights without a
// broadcast.
#pragma once

#include <arm_neon.h>

#include "kernels/neon/tile_lanes.h"
#include "kernels/wide/types.h"

namespace quire::kernels {
namespace {

struct DotProduct {
  static constexpr int kRowsAtOnce = 2;  // whose registers, with the weights' sixteen, are all

  // dots += the products of four groups of weights with 16 values of a row.
  template <typename Codec>
  QUIRE_INLINE static void AddSixteen(const TileRow* codes, int8x16_t x, int32x4_t* dots) {
#pragma GCC unroll 2
    for (int p = 0; p < 2; ++p) {
      dots[p] = vdotq_laneq_s32(dots[p], codes[0].part[p], x, 0);
      dots[p] = vdotq_laneq_s32(dots[p], codes[1].part[p], x, 1);
      dots[p] = vdotq_laneq_s32(dots[p], codes[2].part[p], x, 2);
      dots[p] = vdotq_laneq_s32(dots[p], codes[3].part[p], x, 3);
    }
  }
};

}  // namespace
}  // namespace quire::kernels
