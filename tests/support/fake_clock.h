// A clock that stands still.
#pragma once

#include "base/clock.h"

namespace pipeline {

/// Moves only by Advance. One thread at a time.
class FakeClock : public Clock {
 public:
  std::chrono::nanoseconds Monotonic() const override { return now_; }
  std::int64_t UnixMillis() const override { return now_.count() / 1'000'000; }
  void Advance(std::chrono::nanoseconds by) { now_ += by; }

 private:
  std::chrono::nanoseconds now_{0};
};

}  // namespace pipeline
