#include "ops/vocab.h"

#include <cmath>

#include "base/log.h"
#include "kernels/table.h"

namespace quire::ops {
namespace {

float MaxOf(const kernels::CpuTable& table, std::span<const float> row) {
  return row[static_cast<std::size_t>(ArgMax(table, row))];
}

}  // namespace

std::int32_t ArgMax(const kernels::CpuTable& table, std::span<const float> row) {
  QUIRE_CHECK(!row.empty());
  return static_cast<std::int32_t>(
      table.arg_max(row.data(), static_cast<std::int64_t>(row.size())));
}

float LogSumExp(const kernels::CpuTable& table, std::span<const float> row) {
  const float max = MaxOf(table, row);
  return max +
         std::log(table.sum_exp(row.data(), max, nullptr, static_cast<std::int64_t>(row.size())));
}

void Softmax(const kernels::CpuTable& table, std::span<float> row) {
  const auto size = static_cast<std::int64_t>(row.size());
  const float sum = table.sum_exp(row.data(), MaxOf(table, row), row.data(), size);
  table.scale(row.data(), 1.0F / sum, row.data(), size);
}

}  // namespace quire::ops
