// Estimates the speed of an activity and its remaining time, if possible.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

namespace pipeline {

/// Based on about the last minute: pauses count, and the start is forgotten. One thread.
class Pace {
 public:
  using Time = std::chrono::nanoseconds;  // of a monotonic clock

  /// Records the amount done so far; a smaller amount than before restarts the estimate.
  void Note(Time now, std::uint64_t done);
  /// Per second; 0: unknown.
  double Rate(Time now) const;
  /// Seconds until `all` is done. Absent in the first two seconds, and during a pause that is long compared
  /// with its usual steps.
  std::optional<double> Left(Time now, std::uint64_t all) const;

 private:
  struct Point {
    Time at;
    std::uint64_t done;
  };

  std::deque<Point> points_;  // changes of `done`; the first is the last one before the window
};

}  // namespace pipeline
