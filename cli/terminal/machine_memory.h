// The maximum memory for this process: that of the machine, or the smallest limit of its cgroups.
#pragma once

#include <cstdint>
#include <string>

namespace pipeline {

struct MachineMemory {
  std::uint64_t bytes = 0;
  std::string of;  // for messages: "this machine", "the cgroup /system.slice/x"
};

/// Sources: cgroups(7), the kernel's cgroup-v2.rst (`memory.max`), and for version 1
/// `memory.limit_in_bytes`. `root` replaces `/` in tests. Unreadable files set no limit.
MachineMemory FindMachineMemory(const std::string& root = "");

/// True if a run may hold `limit` bytes. A machine reports less than its nominal memory, because the kernel
/// reserves some: one eighth is tolerated there, nothing in a cgroup.
bool Fits(std::uint64_t limit, const MachineMemory& memory);

}  // namespace pipeline
