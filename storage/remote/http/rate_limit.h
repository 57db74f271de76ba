// A token bucket that limits the rate of all transfers that share it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stop_token>

#include "base/clock.h"
#include "base/mutex.h"
#include "storage/remote/http/retry.h"

namespace pipeline {

/// Safe from any thread, if its clock and pause are.
class RateLimit {
 public:
  /// 0: no limit.
  RateLimit(std::uint64_t bytes_per_second, const Clock& clock, Pause& pause)
      : bytes_per_second_(bytes_per_second), clock_(clock), pause_(pause) {}

  std::uint64_t bytes_per_second() const { return bytes_per_second_; }
  /// The bytes between two checks of the rate, a tenth of a second's worth: otherwise bytes that came while
  /// this machine was busy would be passed on all at once.
  std::size_t piece() const {
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(bytes_per_second_ / 10, 16 << 10, 1 << 20));
  }
  /// Records that these bytes have moved.
  void Take(std::uint64_t bytes);
  /// Waits until the bytes taken fit the rate; or kCancelled.
  Status Wait(const std::stop_token& stop);

 private:
  const std::uint64_t bytes_per_second_;
  const Clock& clock_;
  Pause& pause_;
  Mutex mutex_;
  std::chrono::nanoseconds paid_until_ GUARDED_BY(mutex_){0};
};

}  // namespace pipeline
