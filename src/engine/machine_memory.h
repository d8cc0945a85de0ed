// How much memory this process may still take.
#pragma once

#include <cstdint>
#include <string>

namespace quire {

struct MachineMemory {
  std::uint64_t free_bytes = 0;
  std::string source;  // who sets the limit: "MemAvailable", "control group memory.max"
};

// The least of what the system has available and what each control group above this process still
// allows. Files are looked up under `root`, "" for the machine's own. 0 bytes when nothing can be
// read, with the reason in `source`.
MachineMemory ReadMachineMemory(const std::string& root = "");

}  // namespace quire
