// The clocks of the machine; a test has one of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace pipeline {

/// Safe from any thread. Bytes of an output and keys must never depend on a clock.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Never goes back; for durations.
  virtual std::chrono::nanoseconds Monotonic() const = 0;
  /// Milliseconds since 1970, UTC; for logs.
  virtual std::int64_t UnixMillis() const = 0;
};

/// The clock of the machine; lives until the program ends.
const Clock& SystemClock();

/// "2026-01-31T12:34:56Z"
std::string Iso8601(std::int64_t unix_millis);

}  // namespace pipeline
