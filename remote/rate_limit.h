// How fast bytes may move: one bucket for all who move them.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>

#include "base/clock.h"
#include "base/mutex.h"
#include "remote/retry.h"

namespace pipeline {

/// Safe from any thread, where its clock and pause are.
class RateLimit {
 public:
  /// 0: no limit.
  RateLimit(std::uint64_t bytes_per_second, const Clock& clock, Pause& pause)
      : bytes_per_second_(bytes_per_second), clock_(clock), pause_(pause) {}

  std::uint64_t bytes_per_second() const { return bytes_per_second_; }
  /// So many bytes have moved.
  void Take(std::uint64_t bytes);
  /// Returns when what was taken is no longer more than the time since allows; or kCancelled.
  Status Wait(const std::stop_token& stop);

 private:
  const std::uint64_t bytes_per_second_;
  const Clock& clock_;
  Pause& pause_;
  Mutex mutex_;
  std::chrono::nanoseconds paid_until_ GUARDED_BY(mutex_){0};
};

}  // namespace pipeline
