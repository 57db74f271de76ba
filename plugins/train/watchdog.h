// Whether a trainer still gets on, by what it says and when. Pure: time is what the caller says. CONTRACT.md,
// section 7.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace pipeline {

/// One process of one attempt. One thread at a time.
class Watchdog {
 public:
  using Time = std::chrono::nanoseconds;  // of a clock that never goes back

  /// `patience` is a factor on every limit.
  Watchdog(double patience, Time now);

  /// A good line came.
  void Hear(const Json& event, Time now);
  /// Why it is taken for hanging; absent while it is not.
  std::optional<std::string> Hangs(Time now) const;

 private:
  void Advance(std::int64_t step, Time now);
  Time StepLimit() const;
  Time Scaled(std::chrono::seconds limit) const;

  const double patience_;
  std::string phase_ = "init";
  Time phase_began_;
  Time heard_;
  bool spoke_ = false;
  std::int64_t step_ = -1;
  Time advanced_;              // when `step_` grew last, or the phase began
  std::vector<Time> strides_;  // the last times between two advances
};

}  // namespace pipeline
