// Reductions over rows of logits, vectorised over the vocabulary.
#pragma once

#include <cstdint>
#include <span>

namespace quire::kernels {
struct CpuTable;
}

namespace quire::ops {

// Index of the largest value, the lowest index among equals; NaN is never chosen unless all are.
std::int32_t ArgMax(const kernels::CpuTable& table, std::span<const float> row);

// log(sum(exp(row))), with the largest value taken out first; f32 over a fixed order of lanes.
float LogSumExp(const kernels::CpuTable& table, std::span<const float> row);

// row = exp(row - max) / sum, in place.
void Softmax(const kernels::CpuTable& table, std::span<float> row);

}  // namespace quire::ops
