// How much memory this process can ever have: what the machine has, or the least of what its cgroups leave.
#pragma once

#include <cstdint>
#include <string>

namespace pipeline {

struct MachineMemory {
  std::uint64_t bytes = 0;
  std::string of;  // for messages: "this machine", "the cgroup /system.slice/x"
};

/// Sources: cgroups(7), the kernel's cgroup-v2.rst (`memory.max`), and for version 1 `memory.limit_in_bytes`.
/// `root` stands for `/` in tests. If absent: what cannot be read bounds nothing.
MachineMemory FindMachineMemory(const std::string& root = "");

/// Whether a run that may hold `limit` bytes fits. A machine shows a little less than it was sold with, since
/// its kernel keeps some: an eighth is forgiven there, and nothing in a cgroup.
bool Fits(std::uint64_t limit, const MachineMemory& memory);

}  // namespace pipeline
