// main() of every test program: skips, by exit code, when the wished-for ISA is absent.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <gtest/gtest.h>
#include <sys/auxv.h>

namespace {

constexpr int kSkipped = 77;  // ctest's SKIP_RETURN_CODE, cmake/folder.cmake

bool CpuRuns(std::string_view isa) {
#if defined(__x86_64__)
  if (isa == "avx2") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == "avx512_bf16" && !__builtin_cpu_supports("avx512bf16")) return false;
  if (isa == "avx512" || isa == "avx512_bf16") {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni");
  }
  if (isa.starts_with("neon")) return false;
#elif defined(__aarch64__)
  if (isa.starts_with("avx")) return false;
  const bool has_dot = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
  if (isa == "neon_dot") return has_dot;
  if (isa == "neon_i8mm") return has_dot && (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
#endif
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const char* isa = std::getenv("QUIRE_CPU_ISA");
  if (isa != nullptr && !CpuRuns(isa)) {
    std::printf("skipped: this processor lacks %s\n", isa);
    return kSkipped;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
