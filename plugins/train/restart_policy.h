// Decides what follows an attempt: CONTRACT.md, section 6. No side effects.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace pipeline {

/// Exit codes of a trainer that the stage gives as well: CONTRACT.md, section 6.
inline constexpr int kExitDamagedData = 65;
inline constexpr int kExitBug = 70;
inline constexpr int kExitTryAgain = 75;

/// How one attempt ended.
struct AttemptEnd {
  int code = 0;             // the trainer's exit code
  int signal = 0;           // that killed it; 0: it exited
  bool hung = false;        // the watchdog ended it
  bool stopped = false;     // because the run was stopped
  bool progressed = false;  // it committed a checkpoint newer than all before
  std::string cause;        // a few words for people
  /// The caller's reading of an end that CONTRACT.md does not explain: external/external.md, section 5.
  enum class Meaning : std::uint8_t { kContract, kTryAgain, kFatal };
  Meaning meaning = Meaning::kContract;
};

struct RestartDecision {
  enum class Kind : std::uint8_t { kDone, kAgain, kFail, kStopped };
  Kind kind = Kind::kFail;
  std::chrono::milliseconds wait{0};  // before the next attempt
  Code code = Code::kInternal;        // of a failure
  std::string why;                    // of a failure, or of another attempt
};

/// One training. One thread.
class RestartPolicy {
 public:
  /// `restarts`: consecutive attempts without a new checkpoint before it gives up. `several`: the training
  /// has several processes, on this machine or on several hosts.
  RestartPolicy(std::int64_t restarts, bool several) : restarts_(restarts), several_(several) {}

  /// Counts the attempt and decides. For kDone the caller must still check result.json.
  RestartDecision Decide(const AttemptEnd& end);

 private:
  RestartDecision Held(const AttemptEnd& end);
  RestartDecision Again(const AttemptEnd& end, bool waits);

  const std::int64_t restarts_;
  const bool several_;
  std::int64_t barren_ = 0;  // consecutive attempts without a new checkpoint
  int waits_ = 0;            // consecutive
  bool had_bug_ = false;
};

}  // namespace pipeline
