// Waits between attempts that take no time.
#pragma once

#include <chrono>
#include <mutex>
#include <stop_token>
#include <vector>

#include "storage/remote/http/retry.h"

namespace pipeline {

/// Safe from any thread.
class NoPause final : public Pause {
 public:
  Status For(std::chrono::milliseconds time, std::stop_token stop) override {
    const std::scoped_lock lock(mutex_);
    waits_.push_back(time);
    return stop.stop_requested() ? Status(Code::kCancelled, "stopped") : Status();
  }
  /// What would have been waited, each time.
  std::vector<std::chrono::milliseconds> waits() const {
    const std::scoped_lock lock(mutex_);
    return waits_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::chrono::milliseconds> waits_;
};

}  // namespace pipeline
