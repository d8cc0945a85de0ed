#include "engine/machine_memory.h"

#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

namespace quire {
namespace {

// Files under /proc and /sys say that they are empty, so they are read to their end.
std::optional<std::string> ReadSmallFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<std::uint64_t> ParseBytes(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc()) return std::nullopt;
  return value;
}

// The number behind "NAME" at the beginning of a line.
std::optional<std::uint64_t> FindField(std::string_view text, std::string_view name) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    const std::string_view line = text.substr(begin, end - begin);
    if (line.starts_with(name)) return ParseBytes(line.substr(name.size()));
    if (end == std::string_view::npos) break;
    begin = end + 1;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> ReadNumber(const std::string& path) {
  const auto text = ReadSmallFile(path);
  return text ? ParseBytes(*text) : std::nullopt;
}

struct GroupFiles {
  const char* limit;
  const char* usage;
  const char* reclaimable;  // field of memory.stat: cached file pages that the kernel can drop
};
constexpr GroupFiles kVersion2 = {"memory.max", "memory.current", "inactive_file "};
constexpr GroupFiles kVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                  "total_inactive_file "};

// What the control group in `folder` still allows; nothing where it sets no limit.
std::optional<std::uint64_t> FreeInGroup(const std::string& folder, const GroupFiles& files) {
  const auto limit = ReadNumber(folder + "/" + files.limit);
  const auto usage = ReadNumber(folder + "/" + files.usage);
  if (!limit || !usage) return std::nullopt;
  const auto stat = ReadSmallFile(folder + "/memory.stat");
  const std::uint64_t reclaimable =
      stat ? FindField(*stat, files.reclaimable).value_or(0) : std::uint64_t{0};
  const std::uint64_t used = *usage > reclaimable ? *usage - reclaimable : 0;
  return *limit > used ? *limit - used : 0;
}

void LimitByGroups(const std::string& mount, std::string path, const GroupFiles& files,
                   MachineMemory& memory) {
  while (true) {
    const auto free = FreeInGroup(mount + path, files);
    if (free && *free < memory.free_bytes) {
      memory = {.free_bytes = *free, .source = std::string("control group ") + files.limit};
    }
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return;
    path.resize(slash);
  }
}

// The path in a line "ID:CONTROLLERS:PATH" of /proc/self/cgroup.
std::optional<std::string> GroupPath(std::string_view text, std::string_view controllers) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    const std::string_view line = text.substr(begin, end - begin);
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first != std::string_view::npos && second != std::string_view::npos &&
        line.substr(first + 1, second - first - 1) == controllers) {
      std::string path(line.substr(second + 1));
      return path == "/" ? std::string() : path;
    }
    if (end == std::string_view::npos) break;
    begin = end + 1;
  }
  return std::nullopt;
}

}  // namespace

MachineMemory ReadMachineMemory(const std::string& root) {
  const auto meminfo = ReadSmallFile(root + "/proc/meminfo");
  const auto available = meminfo ? FindField(*meminfo, "MemAvailable:") : std::nullopt;
  if (!available) return {.free_bytes = 0, .source = "/proc/meminfo has no MemAvailable"};
  MachineMemory memory = {.free_bytes = *available * 1024, .source = "MemAvailable"};
  const std::string groups = ReadSmallFile(root + "/proc/self/cgroup").value_or("");
  if (const auto path = GroupPath(groups, "")) {
    LimitByGroups(root + "/sys/fs/cgroup", *path, kVersion2, memory);
  }
  if (const auto path = GroupPath(groups, "memory")) {
    LimitByGroups(root + "/sys/fs/cgroup/memory", *path, kVersion1, memory);
  }
  return memory;
}

}  // namespace quire
