// Reductions over one row of logits. Contract for every variant: all give the same bits.
#pragma once

#include <cstdint>

namespace quire::kernels {

// Index of the largest value, the lowest among equals; NaN only when all are. n > 0.
using ArgMaxFn = std::int64_t (*)(const float* row, std::int64_t n);

// sum_i(Exp(row[i] - max)) over 16 lanes, element i on lane i % 16, folded by halves; where `out`
// is not null the exponentials go there (it may be `row`).
using SumExpFn = float (*)(const float* row, float max, float* out, std::int64_t n);

}  // namespace quire::kernels
