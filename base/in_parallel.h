// The same short work for many numbers, most of it waiting for a server.
#pragma once

#include <cstddef>
#include <functional>

#include "base/status.h"

namespace pipeline {

/// Calls `work` with each number below `count`, from at most `threads` threads at a time, in any order.
/// Returns the failure of the lowest number that failed; no call begins after a failure.
Status InParallel(std::size_t count, std::size_t threads, const std::function<Status(std::size_t)>& work);

}  // namespace pipeline
