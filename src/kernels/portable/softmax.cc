// The specification of reductions over logits.
#include "kernels/softmax.h"

#include "kernels/fill.h"
#include "kernels/portable/exp.h"
#include "kernels/table.h"

namespace quire::kernels {
namespace {

std::int64_t ArgMax(const float* row, std::int64_t n) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < n; ++i) {
    if (row[i] > row[best] || (std::isnan(row[best]) && !std::isnan(row[i]))) best = i;
  }
  return best;
}

float SumExp(const float* row, float max, float* out, std::int64_t n) {
  float lane[kLanes] = {};
  for (std::int64_t i = 0; i < n; ++i) {
    const float e = Exp(row[i] - max);
    lane[i % kLanes] += e;
    if (out != nullptr) out[i] = e;
  }
  return FoldHalves(lane);
}

}  // namespace

void FillPortableSoftmax(CpuTable& table) {
  table.arg_max = ArgMax;
  table.sum_exp = SumExp;
}

}  // namespace quire::kernels
