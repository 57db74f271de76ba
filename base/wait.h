// A wait that can be stopped.
#pragma once

#include <chrono>
#include <stop_token>

namespace pipeline {

/// Waits for `time`. False: a stop was requested before or at its end.
bool WaitFor(std::chrono::milliseconds time, std::stop_token stop);

}  // namespace pipeline
