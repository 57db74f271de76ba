// Priority of a thread among the threads of the program.
#pragma once

#include <cstdint>

namespace pipeline {

/// kLow: a third of the processor time that another thread gets where both compete.
enum class ThreadPriority : std::uint8_t { kNormal, kLow };

/// Sets the priority of the calling thread, relative to that of the program. Without the right to raise a
/// priority, a thread that was kLow stays so.
void SetThreadPriority(ThreadPriority priority);

}  // namespace pipeline
