// Waiting that takes no time.
#pragma once

#include <chrono>
#include <stop_token>
#include <vector>

#include "storage/remote/http/retry.h"
#include "tests/support/fake_clock.h"

namespace pipeline {

/// Lets a clock run in place of waiting, or nothing. One thread at a time.
class CountedPause final : public Pause {
 public:
  explicit CountedPause(FakeClock* clock) : clock_(clock) {}
  Status For(std::chrono::milliseconds time, std::stop_token stop) override {
    if (stop.stop_requested()) return Status(Code::kCancelled, "stopped");
    taken.push_back(time);
    if (clock_ != nullptr) clock_->Advance(time);
    return {};
  }
  std::chrono::milliseconds Sum() const {
    std::chrono::milliseconds sum(0);
    for (const std::chrono::milliseconds time : taken) sum += time;
    return sum;
  }
  std::vector<std::chrono::milliseconds> taken;

 private:
  FakeClock* const clock_;
};

}  // namespace pipeline
