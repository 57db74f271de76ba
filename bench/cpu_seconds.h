// The clock that a neighbour disturbs little.
#pragma once

#include <ctime>

namespace pipeline {

/// Seconds of the processor that all threads of this process have used.
inline double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace pipeline
