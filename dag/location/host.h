// Identifies the running kernel: all processes of one kernel see its locks.
#pragma once

#include <string>

namespace pipeline {

/// Returns the kernel's boot id, which changes with each start of the machine; empty: there is none.
std::string HostId();

}  // namespace pipeline
