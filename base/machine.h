// The machine that this process runs on.
#pragma once

#include <string>

namespace pipeline {

/// Returns the kernel's boot id, which changes with each start of the machine: all processes of one kernel
/// see its locks. Empty: there is none.
const std::string& BootId();

/// Returns the name of this host; "?" if it has none.
std::string HostName();

/// For people: "HOST, process PID".
std::string NameOfProcess();

}  // namespace pipeline
