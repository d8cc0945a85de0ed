#include "platform/cpu.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <sched.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/strings.h"

namespace quire {
namespace {

std::optional<std::string> FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<std::int64_t> NumberIn(const std::string& path) {
  const auto line = FirstLine(path);
  return line ? ParseNumber<std::int64_t>(*line) : std::nullopt;
}

// Processors' worth of time that the control group grants, rounded up; nullopt without a limit.
std::optional<int> QuotaCores() {
  std::optional<std::int64_t> quota;
  std::optional<std::int64_t> period;
  if (const auto line = FirstLine("/sys/fs/cgroup/cpu.max")) {
    const auto words = Split(*line, ' ');
    if (words.size() == 2) {
      quota = ParseNumber<std::int64_t>(words[0]);  // "max" is no number: no limit
      period = ParseNumber<std::int64_t>(words[1]);
    }
  } else {
    quota = NumberIn("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
    period = NumberIn("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  }
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<int>(std::clamp<std::int64_t>((*quota + *period - 1) / *period, 1, 1 << 16));
}

// Package and core of a processor; of its own number where the system does not tell.
std::pair<std::int64_t, std::int64_t> CoreOf(int cpu) {
  const std::string folder = StrCat("/sys/devices/system/cpu/cpu", cpu, "/topology/");
  const auto core = NumberIn(folder + "core_id");
  if (!core) return {-1, cpu};
  return {NumberIn(folder + "physical_package_id").value_or(0), *core};
}

std::vector<int> AllowedCpus() {
  // Grown until the kernel's own mask fits.
  for (int max_cpus = 1024; max_cpus <= 1 << 20; max_cpus *= 4) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(max_cpus));
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(max_cpus));
    const bool fits = sched_getaffinity(0, bytes, set) == 0;
    std::vector<int> cpus;
    for (int cpu = 0; fits && cpu < max_cpus; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (!cpus.empty()) return cpus;
  }
  return {0};
}

std::vector<int> FindUsableCores() {
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  std::vector<int> cores;
  for (const int cpu : AllowedCpus()) {
    if (seen.insert(CoreOf(cpu)).second) cores.push_back(cpu);
  }
  if (const auto quota = QuotaCores()) {
    cores.resize(std::min(cores.size(), static_cast<std::size_t>(*quota)));
  }
  return cores;
}

}  // namespace

CpuFeatures DetectCpuFeatures() {
  CpuFeatures features;
#if defined(__x86_64__)
  features.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("avx");
  features.avx512 = features.avx2 && __builtin_cpu_supports("avx512f") &&
                    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
  features.avx512_bf16 = features.avx512 && __builtin_cpu_supports("avx512bf16");
  features.adds_apart = __builtin_cpu_is("amd") != 0;  // since Zen; Intel's serve both
#elif defined(__aarch64__)
  features.neon = true;  // part of the baseline
  features.neon_dot = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
  features.neon_i8mm = features.neon_dot && (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
#endif
  return features;
}

std::vector<int> UsableCores() {
  static const auto& cores = *new std::vector<int>(FindUsableCores());
  return cores;
}

}  // namespace quire
