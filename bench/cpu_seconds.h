// The clock that a neighbour disturbs little.
#pragma once

#include <ctime>

namespace pipeline {

/// Of the processor, used by all threads of this process so far.
inline double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace pipeline
