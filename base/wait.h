// Waiting that can be ended.
#pragma once

#include <chrono>
#include <stop_token>

namespace pipeline {

/// False where it was stopped before the time was over, or is by then.
bool WaitFor(std::chrono::milliseconds time, std::stop_token stop);

}  // namespace pipeline
