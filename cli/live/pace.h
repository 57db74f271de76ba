// How fast something goes on, and when it will be through, where that can be known.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

namespace pipeline {

/// By what came of about the last minute: pauses count, the beginning does not for ever. One thread.
class Pace {
 public:
  using Time = std::chrono::nanoseconds;  // of a monotonic clock

  /// So much is done now; less than before begins anew.
  void Note(Time now, std::uint64_t done);
  /// For each second; 0 where nothing is known.
  double Rate(Time now) const;
  /// Seconds until `all` is done. Absent before it has gone on for two seconds, and where it stands still for
  /// longer than its steps take: then nobody knows.
  std::optional<double> Left(Time now, std::uint64_t all) const;

 private:
  struct Point {
    Time at;
    std::uint64_t done;
  };

  std::deque<Point> points_;  // where it changed; in front the last one that is older than the window
};

}  // namespace pipeline
