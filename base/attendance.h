// A person waits for this process, and no work runs that would be lost: while a plan is made, or a location
// is listed. Such a wait for a server is told, is short, and ends at the first signal.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "base/status.h"
#include "base/wait.h"

namespace pipeline {

struct AttendanceTimes {
  std::chrono::milliseconds silence{3'000};         // of a server, until it is told
  std::chrono::milliseconds patience{55'000};       // with a server that gives no answer
  std::chrono::milliseconds longest_pause{8'000};   // between two attempts
  std::chrono::milliseconds between_words{10'000};  // about one silent server
};

/// Detail of a failure: a server that has answered so `attempts` times in a row gives no other answer soon.
struct SameAnswer final : StatusDetail {
  explicit SameAnswer(int most) : attempts(most) {}
  int attempts;
};

/// All requests of the process share it while a person waits. Safe from any thread.
class AttendedWait {
 public:
  AttendedWait(std::stop_token stop, const AttendanceTimes& times) : stop_(std::move(stop)), times_(times) {}

  /// Stops with the token that Attendance was given.
  std::stop_token stop() const { return stop_; }
  const AttendanceTimes& times() const { return times_; }

  /// Call it while no answer of `server` comes to a request of the time `begun`; `shown` names the request.
  /// Tells of a long silence, and returns the time until the next call. Absent: the patience with this server
  /// is over.
  std::optional<std::chrono::milliseconds> Silent(std::string_view server, std::string_view shown,
                                                  std::chrono::nanoseconds begun);
  /// `server` gives a sign of life.
  void Answers(std::string_view server);

 private:
  struct Silence {
    std::chrono::nanoseconds since;
    std::chrono::nanoseconds told_next;
  };

  const std::stop_token stop_;
  const AttendanceTimes times_;
  Mutex mutex_;
  std::map<std::string, Silence, std::less<>> silent_ GUARDED_BY(mutex_);  // by server
};

/// The present wait, or null: nobody waits. It may be kept after its Attendance has ended, and stops no more
/// then.
std::shared_ptr<AttendedWait> PresentWait();

/// A person waits while it lives. One that is made meanwhile holds in place of it; the last one made ends
/// first.
class Attendance {
 public:
  explicit Attendance(std::stop_token stop, const AttendanceTimes& times = {});
  ~Attendance();
  Attendance(const Attendance&) = delete;
  Attendance& operator=(const Attendance&) = delete;

 private:
  std::optional<EitherStop> stop_;              // of the token that was given, alone
  const std::shared_ptr<AttendedWait> before_;  // null: nobody waited
};

}  // namespace pipeline
