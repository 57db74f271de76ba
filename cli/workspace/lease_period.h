// The period of signs of life: PIPE_LEASE.
#pragma once

#include <chrono>

#include "base/result.h"

namespace pipeline {

/// Returns the value of PIPE_LEASE, in seconds from 0.1 to 60; 15 s if it is not set.
Result<std::chrono::milliseconds> LeasePeriodFromEnvironment();

}  // namespace pipeline
