// Products with int8 activations on tiles of 8 outputs by `sdot` (neon_dot/rows.h).
//
// A block of weights is decoded into sixteen registers once and then meets every row of the panel,
// two at a time. One row's sums stay in registers; those of more are in the first-level cache.
#include "kernels/fill.h"
#include "kernels/neon/panel_rows.h"
#include "kernels/neon_dot/rows.h"
#include "kernels/wide/tile_reader.h"

namespace quire::kernels {
namespace {

constexpr int kRowsAtOnce = 2;  // with their sixteen registers of weights they fill the processor's

template <typename Codec>
void MultiplyRows(const MatmulQuantArgs& args, std::int64_t tile) {
  const TileReader<Codec, kTile> reader(args, tile);
  float32x4_t sums[kPanelRows][2];
  for (std::int64_t r = 0; r < args.rows; ++r) sums[r][0] = sums[r][1] = vdupq_n_f32(0.0F);
  for (std::int64_t b = 0; b < args.blocks; ++b) {
    Weights weights;
    reader.Load(b, weights);
    RowBlock rows = RowsOf(args, b);
    std::int64_t r = 0;
    for (; r + kRowsAtOnce <= args.rows; r += kRowsAtOnce, rows.Skip(kRowsAtOnce)) {
      AddBlock<Codec, kRowsAtOnce>(weights, rows, sums + r);
    }
    if (r < args.rows) AddBlock<Codec, 1>(weights, rows, sums + r);
  }
  for (std::int64_t r = 0; r < args.rows; ++r) StoreSums(args, tile, r, sums[r]);
}

template <typename Codec>
struct DotKernel {
  static void Matmul(const MatmulQuantArgs& args) {
    for (std::int64_t tile = 0; tile * kTile < args.outputs; ++tile) {
      if (args.rows == 1) {
        MultiplyRow<Codec>(args, tile);
      } else {
        MultiplyRows<Codec>(args, tile);
      }
    }
  }
};

}  // namespace

void FillNeonDotMatmulQuant(CpuTable& table) { SetMatmulQuant<DotKernel>(table); }

}  // namespace quire::kernels
