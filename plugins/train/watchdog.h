// Decides from a trainer's events and their times whether it makes progress. No clock: the caller gives the
// time. CONTRACT.md, section 7.
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
  using Time = std::chrono::nanoseconds;  // on a monotonic clock

  /// `patience`: a factor on every limit.
  Watchdog(double patience, Time now);
  /// Only `silence` without an event counts as hanging: external/external.md, section 5.
  static Watchdog ForSilence(std::chrono::seconds silence, Time now);

  /// Records a valid event.
  void Hear(const Json& event, Time now);
  /// It may be waiting for another host: the times of its phase and of its step begin anew, and that of the
  /// silence of a program.
  void Excuse(Time now) {
    phase_began_ = advanced_ = now;
    if (silence_) heard_ = now;
  }
  /// Why the trainer counts as hung; absent: it does not.
  std::optional<std::string> Hangs(Time now) const;

 private:
  void Advance(std::int64_t step, Time now);
  Time StepLimit() const;
  Time Scaled(std::chrono::seconds limit) const;

  double patience_;
  std::optional<Time> silence_;  // absent: the limits of section 7 hold
  std::string phase_ = "init";
  Time phase_began_;
  Time heard_;
  bool spoke_ = false;
  std::int64_t step_ = -1;
  Time advanced_;              // when `step_` last grew, or the phase began
  std::vector<Time> strides_;  // the last intervals between two advances
};

}  // namespace pipeline
