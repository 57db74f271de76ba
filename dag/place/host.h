// Which running kernel this is: locks of one are seen by all its processes.
#pragma once

#include <string>

namespace pipeline {

/// The kernel's boot id, another one after each start of a machine; empty where there is none.
std::string HostId();

}  // namespace pipeline
