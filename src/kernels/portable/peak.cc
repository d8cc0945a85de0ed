// What the compiler makes of plain loops: the yardstick of a processor without variants.
#include <array>

#include "kernels/fill.h"
#include "kernels/table.h"

namespace quire::kernels {
namespace {

constexpr int kLanes = 32;

void RunF32(std::int64_t rounds) {
  std::array<float, kLanes> sums{};
  float a = 1.0F, b = 1.0F;
  for (std::int64_t i = 0; i < rounds; ++i) {
    asm volatile("" : "+m"(a), "+m"(b));
    for (float& sum : sums) sum += a * b;
  }
  asm volatile("" : "+m"(sums));
}

}  // namespace

void FillPortablePeak(CpuTable& table) {
  table.peak[static_cast<int>(PeakKind::kF32)] = {RunF32, kLanes * 2};
}

}  // namespace quire::kernels
