// Products with int8 activations on tiles of 8 outputs where the processor has no `sdot`
// (neon/rows.h).
//
// Four values of a row, broadcast, times four values of each of 4 outputs are two registers of
// 16-bit products. Those of several groups are added in 16 bits as long as the codes' range proves
// that not even two neighbours' sum overflows; then neighbours are added in 16 bits and once more
// into 32.
#include <arm_neon.h>

#include "kernels/fill.h"
#include "kernels/neon/panel_rows.h"
#include "kernels/neon/rows.h"
#include "kernels/table.h"

namespace quire::kernels {
namespace {

// How many groups' products fit 16 bits together, two neighbours added: a power of two, at most 4.
template <int kMaxCode>
constexpr int GroupsTogether() {
  static_assert(2 * kMaxCode * 127 <= 32767);
  int count = 4;
  while (count > 1 && count * 2 * kMaxCode * 127 > 32767) count /= 2;
  return count;
}

template <int kGroup>
QUIRE_INLINE int8x16_t Broadcast(int8x16_t x) {
  return vreinterpretq_s8_s32(vdupq_laneq_s32(vreinterpretq_s32_s8(x), kGroup));
}

struct LongProduct {
  static constexpr int kRowsAtOnce = 1;  // registers for two rows' products are not left

  // dots += the products of four groups of weights with 16 values of a row.
  template <typename Codec>
  QUIRE_INLINE static void AddSixteen(const TileRow* codes, int8x16_t x, int32x4_t* dots) {
    constexpr int kTogether = GroupsTogether<Codec::kMaxCode>();
    const int8x16_t quads[4] = {Broadcast<0>(x), Broadcast<1>(x), Broadcast<2>(x), Broadcast<3>(x)};
#pragma GCC unroll 4
    for (int first = 0; first < 4; first += kTogether) {
#pragma GCC unroll 2
      for (int p = 0; p < 2; ++p) {
        int16x8_t low = vmull_s8(vget_low_s8(codes[first].part[p]), vget_low_s8(quads[first]));
        int16x8_t high = vmull_high_s8(codes[first].part[p], quads[first]);
#pragma GCC unroll 3
        for (int g = first + 1; g < first + kTogether; ++g) {
          low = vmlal_s8(low, vget_low_s8(codes[g].part[p]), vget_low_s8(quads[g]));
          high = vmlal_high_s8(high, codes[g].part[p], quads[g]);
        }
        dots[p] = vpadalq_s16(dots[p], vpaddq_s16(low, high));
      }
    }
  }
};

template <typename Codec>
struct LongKernel {
  static void Matmul(const MatmulQuantArgs& args) { MultiplyTiles<LongProduct, Codec>(args); }
};

}  // namespace

void FillNeonMatmulQuant(CpuTable& table) { SetMatmulQuant<LongKernel>(table); }

}  // namespace quire::kernels
