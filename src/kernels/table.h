// The function table of one CPU: every kernel under its contract's type, chosen once at start.
#pragma once

namespace quire::kernels {

enum class CpuIsa { kPortable, kAvx2, kAvx512, kNeon };

}  // namespace quire::kernels
