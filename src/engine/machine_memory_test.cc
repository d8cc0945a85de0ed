#include "engine/machine_memory.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace quire {
namespace {

// A root folder with files of the kernel's kind.
class FakeRoot {
 public:
  FakeRoot() : path_(testing::TempDir() + "machine_memory") { std::filesystem::remove_all(path_); }
  ~FakeRoot() { std::filesystem::remove_all(path_); }
  void Write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path_ + "/" + name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

constexpr const char* kMeminfo = "MemTotal:  2000 kB\nMemFree: 10 kB\nMemAvailable:   1000 kB\n";

TEST(MachineMemory, IsWhatTheSystemHasAvailable) {
  const FakeRoot root;
  root.Write("proc/meminfo", kMeminfo);
  EXPECT_EQ(ReadMachineMemory(root.path()).free_bytes, 1000U * 1024);
}

TEST(MachineMemory, ObeysTheTightestControlGroupOnTheWayUp) {
  const FakeRoot root;
  root.Write("proc/meminfo", kMeminfo);
  root.Write("proc/self/cgroup", "0::/outer/inner\n");
  root.Write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  root.Write("sys/fs/cgroup/outer/inner/memory.current", "5000\n");
  root.Write("sys/fs/cgroup/outer/memory.max", "100000\n");
  root.Write("sys/fs/cgroup/outer/memory.current", "40000\n");
  root.Write("sys/fs/cgroup/outer/memory.stat", "anon 1\ninactive_file 10000\n");
  const MachineMemory memory = ReadMachineMemory(root.path());
  EXPECT_EQ(memory.free_bytes, 70000U);
  EXPECT_NE(memory.source.find("memory.max"), std::string::npos);
}

TEST(MachineMemory, ReadsTheOlderControlGroupsToo) {
  const FakeRoot root;
  root.Write("proc/meminfo", kMeminfo);
  root.Write("proc/self/cgroup", "4:memory:/job\n1:cpu:/\n");
  root.Write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "50000\n");
  root.Write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "60000\n");
  EXPECT_EQ(ReadMachineMemory(root.path()).free_bytes, 0U);
}

TEST(MachineMemory, SaysWhenItKnowsNothing) {
  const FakeRoot root;
  const MachineMemory memory = ReadMachineMemory(root.path());
  EXPECT_EQ(memory.free_bytes, 0U);
  EXPECT_NE(memory.source.find("meminfo"), std::string::npos);
}

TEST(MachineMemory, KnowsThisMachine) { EXPECT_GT(ReadMachineMemory().free_bytes, 0U); }

}  // namespace
}  // namespace quire
