// Decides from a trainer's events and their times whether it makes progress. No clock: the caller gives the
// time. CONTRACT.md, section 7.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace pipeline {

/// From SIGTERM to SIGKILL at least, unless the file sets `grace`.
inline constexpr std::chrono::seconds kLeastGrace{30};

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

  /// The usual time of a step. While few have ended, the longest, and at least that of the present one; 0:
  /// unknown.
  Time StepTime(Time now) const;
  /// The longest time from the beginning of a checkpoint to its commit; absent: there was none.
  std::optional<Time> save_time() const { return save_time_; }
  /// The time that it needs after SIGTERM: two steps and a save, at least kLeastGrace.
  Time Grace(Time now) const {
    const Time step = StepTime(now);
    return step == Time(0) ? kLeastGrace
                           : std::max<Time>(kLeastGrace, 2 * step + save_time_.value_or(kLeastGrace));
  }

 private:
  struct Stride {  // between two advances
    Time time;
    std::int64_t steps;
  };
  void Advance(std::int64_t step, Time now);
  /// There is a stride.
  Time Median(const std::function<Time(const Stride&)>& of) const;
  Time StepLimit() const;
  Time Scaled(std::chrono::seconds limit) const;

  double patience_;
  std::optional<Time> silence_;  // absent: the limits of section 7 hold
  std::string phase_ = "init";
  Time phase_began_;
  Time heard_;
  bool spoke_ = false;
  std::int64_t step_ = -1;
  Time advanced_;                   // when `step_` last grew, or the phase began
  std::vector<Stride> strides_;     // the last ones
  std::optional<Time> save_began_;  // of the checkpoint that is not committed yet
  std::optional<Time> save_time_;
};

}  // namespace pipeline
