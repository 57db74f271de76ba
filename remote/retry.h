// Trying again: the one place where anything is.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>

#include "base/clock.h"
#include "base/status.h"

namespace pipeline {

struct RetryPolicy {
  std::chrono::milliseconds first{1'000};  // the greatest first pause; each next one is twice as long
  std::chrono::milliseconds longest{32'000};
  // Both must be at their end before it is given up: a server that starts again takes minutes, and an attempt
  // that stalls takes one.
  int attempts = 12;                            // in a row without progress
  std::chrono::milliseconds patience{600'000};  // without progress
};

/// Waits that a test can do without.
class Pause {
 public:
  virtual ~Pause() = default;
  /// Sleeps, or returns early with kCancelled.
  virtual Status For(std::chrono::milliseconds time, std::stop_token stop) = 0;
};
Pause& SystemPause();

/// Another one at every call, in every process.
std::uint64_t JitterSeed();

/// What attempts are made with; the defaults are those of the program.
struct RetryMeans {
  RetryPolicy policy = {};
  const Clock* clock = &SystemClock();
  Pause* pause = &SystemPause();
};

/// One operation's attempts. One thread at a time.
class Retry {
 public:
  /// With a seed of its own.
  explicit Retry(const RetryMeans& means);
  /// `seed` decides the jitter; take one that differs between processes.
  Retry(const RetryPolicy& policy, const Clock& clock, Pause& pause, std::uint64_t seed);

  /// Something was achieved: the count begins anew.
  void Progress();
  /// After a failed attempt: waits (between nothing and the current pause, or `asked` where the server named
  /// a time) and returns OK for another attempt; or `failure` again, saying how often it was tried, where
  /// that is not kUnavailable, patience is at its end or the server named a longer time; or kCancelled.
  Status Again(Status failure, std::optional<std::chrono::milliseconds> asked, std::stop_token stop);

 private:
  const RetryPolicy policy_;
  const Clock& clock_;
  Pause& pause_;
  std::uint64_t state_;
  int failed_ = 0;
  std::chrono::nanoseconds since_;
  std::chrono::milliseconds paused_{0};  // since then
};

}  // namespace pipeline
