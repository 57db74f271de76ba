// Tasks on several threads, a bounded number at a time.
#pragma once

#include <cstddef>
#include <functional>

#include "base/status.h"

namespace pipeline {

/// Calls `task` with 0 … count-1, at most `at_once` of them at a time, each on some thread; returns when all
/// have ended. After a failure no further one begins, and the first is the answer.
Status RunSeveral(std::size_t count, std::size_t at_once, const std::function<Status(std::size_t)>& task);

}  // namespace pipeline
