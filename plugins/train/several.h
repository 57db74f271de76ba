// Runs tasks on a bounded number of threads.
#pragma once

#include <cstddef>
#include <functional>

#include "base/status.h"

namespace pipeline {

/// Calls `task` with 0 … count-1, at most `at_once` at a time, on several threads; returns when all calls
/// have ended. After a failure it starts no further call, and returns the first failure.
Status RunSeveral(std::size_t count, std::size_t at_once, const std::function<Status(std::size_t)>& task);

}  // namespace pipeline
