#include "metrics/process_metrics.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/strings.h"

namespace quire {
namespace {

double NumOpenFiles() {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  int count = 0;
  // The stream is this function's own, which makes readdir safe.
  while (readdir(folder) != nullptr) ++count;  // NOLINT(concurrency-mt-unsafe)
  closedir(folder);
  return std::max(0, count - 3);  // ".", ".." and the folder itself
}

double MostOpenFiles() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<double>(limit.rlim_cur) : 0.0;
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double CpuSeconds() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
}

// Of /proc/self/statm, whose first numbers are the pages mapped and the pages in memory.
double PageBytes(std::size_t idx) {
  std::ifstream file("/proc/self/statm");
  double pages = 0;
  for (std::size_t i = 0; i <= idx; ++i) file >> pages;
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double SecondsSinceBoot(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The 22nd field of /proc/self/stat is the start in clock ticks since the machine's.
double StartTime() {
  std::ifstream file("/proc/self/stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  const auto fields = Split(std::string_view(text).substr(name_end + 2), ' ');
  constexpr std::size_t kStart = 19;  // the first field after the name is the third
  if (fields.size() <= kStart) return 0;
  const double ticks = ParseNumber<double>(fields[kStart]).value_or(0);
  const double age =
      SecondsSinceBoot(CLOCK_BOOTTIME) - ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  return SecondsSinceBoot(CLOCK_REALTIME) - age;
}

struct ProcessMetrics {
  Gauge* mapped;
  Gauge* resident;
  Gauge* open_files;
  Gauge* most_files;
  Counter* cpu;

  void Update() const {
    mapped->Set(PageBytes(0));
    resident->Set(PageBytes(1));
    open_files->Set(NumOpenFiles());
    most_files->Set(MostOpenFiles());
    cpu->RaiseTo(CpuSeconds());
  }
};

}  // namespace

void AddProcessMetrics(MetricRegistry& registry) {
  const auto gauge = [&](const char* name, const char* help) {
    return &registry.AddGauge({.name = name, .help = help, .labels = {}}).With({});
  };
  ProcessMetrics metrics{};
  metrics.mapped = gauge("process_virtual_memory_bytes", "Bytes of memory that are mapped");
  metrics.resident = gauge("process_resident_memory_bytes", "Bytes of memory in RAM");
  gauge("process_start_time_seconds", "When the process began, in seconds since the epoch")
      ->Set(StartTime());
  metrics.cpu = &registry
                     .AddCounter({.name = "process_cpu_seconds",
                                  .help = "Processor time used, in seconds",
                                  .labels = {},
                                  .shows_created = false})
                     .With({});
  metrics.open_files = gauge("process_open_fds", "Files and sockets that are open");
  metrics.most_files = gauge("process_max_fds", "Files and sockets that may be open");
  registry.AddCollector([metrics] { metrics.Update(); });
}

}  // namespace quire
