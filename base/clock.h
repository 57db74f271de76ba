// Time, as something a test can hold still.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace pipeline {

/// Safe from any thread. Nothing that depends on a clock may reach an output's bytes or a key.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Never goes back; for durations.
  virtual std::chrono::nanoseconds Monotonic() const = 0;
  /// Milliseconds since 1970, UTC; for logs.
  virtual std::int64_t UnixMillis() const = 0;
};

/// The machine's clock; lives for ever.
const Clock& SystemClock();

/// Stands still until told to move. One thread at a time.
class FakeClock : public Clock {
 public:
  std::chrono::nanoseconds Monotonic() const override { return now_; }
  std::int64_t UnixMillis() const override { return now_.count() / 1'000'000; }
  void Advance(std::chrono::nanoseconds by) { now_ += by; }

 private:
  std::chrono::nanoseconds now_{0};
};

/// "2026-01-31T12:34:56Z"
std::string Iso8601(std::int64_t unix_millis);

}  // namespace pipeline
