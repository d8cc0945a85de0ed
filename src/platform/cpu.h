// What the processor can run, and which of its cores this process may use.
#pragma once

#include <vector>

namespace quire {

// Instruction sets that both the processor and the operating system's saved register state allow.
struct CpuFeatures {
  bool avx2 = false;    // with FMA and F16C
  bool avx512 = false;  // F, BW, DQ, VL and VNNI
  bool avx512_bf16 = false;
  bool adds_apart = false;  // vector additions have units beside those of multiplications
  bool neon = false;        // Advanced SIMD
  bool neon_dot = false;    // and dot products of bytes
  bool neon_i8mm = false;   // and products of matrices of bytes
};
CpuFeatures DetectCpuFeatures();

// One logical processor of each physical core that this process may run on, by affinity mask and
// container quota, lowest number first; never empty. Found once, before a pool narrows the mask of
// its caller.
std::vector<int> UsableCores();

}  // namespace quire
