// Retries with exponential backoff: the only code that retries.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>

#include "base/clock.h"
#include "base/status.h"

namespace pipeline {

struct RetryPolicy {
  std::chrono::milliseconds first{1'000};  // upper bound of the first pause; doubles each time
  std::chrono::milliseconds longest{32'000};
  // Retrying ends only when both limits are exceeded: a restarting server takes minutes, and one stalled
  // attempt takes a minute.
  int attempts = 12;                            // consecutive, without progress
  std::chrono::milliseconds patience{600'000};  // without progress
};

/// A wait that tests can replace.
class Pause {
 public:
  virtual ~Pause() = default;
  /// Sleeps, or returns early with kCancelled.
  virtual Status For(std::chrono::milliseconds time, std::stop_token stop) = 0;
};
Pause& SystemPause();

/// Differs at every call and in every process.
std::uint64_t JitterSeed();

/// The means of retrying; the defaults are those of the program.
struct RetryMeans {
  RetryPolicy policy = {};
  const Clock* clock = &SystemClock();
  Pause* pause = &SystemPause();
};

/// The attempts of one operation. One thread at a time.
class Retry {
 public:
  /// Uses a seed of its own.
  explicit Retry(const RetryMeans& means);
  /// `seed` decides the jitter; it should differ between processes.
  Retry(const RetryPolicy& policy, const Clock& clock, Pause& pause, std::uint64_t seed);

  /// Reports progress: the count starts again.
  void Progress();
  /// Call after a failed attempt. Waits for a random time up to the current pause, or for `asked` if the
  /// server named a time, and returns OK to try again. Returns `failure`, with the number of attempts, if
  /// it is not kUnavailable, if the policy is exhausted, or if `asked` is longer than the policy allows; or
  /// kCancelled. While a person waits (base/attendance.h), it tells of failures and of the next attempt, ends
  /// with that wait, too, and gives up after its patience, or at once with SameAnswer.
  Status Again(Status failure, std::optional<std::chrono::milliseconds> asked, std::stop_token stop);

 private:
  const RetryPolicy policy_;
  const Clock& clock_;
  Pause& pause_;
  std::uint64_t state_;
  int failed_ = 0;
  std::chrono::nanoseconds since_;
  std::chrono::milliseconds paused_{0};  // since `since_`
  std::chrono::milliseconds told_{0};    // of the last failure told, since `since_`; 0: none
};

}  // namespace pipeline
