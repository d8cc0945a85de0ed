// One number for many: what benchmark programs tell of their times.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/log.h"

namespace quire {

// The value below which `percent` % of the values lie, in [0, 100], between neighbours in
// proportion; 0 where there are none.
inline double Percentile(std::vector<double> values, double percent) {
  QUIRE_DCHECK(percent >= 0.0 && percent <= 100.0) << "percent is " << percent;
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = percent / 100.0 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (at - std::floor(at));
}

inline double Median(std::vector<double> values) { return Percentile(std::move(values), 50.0); }

}  // namespace quire
