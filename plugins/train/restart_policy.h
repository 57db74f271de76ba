// What follows from how an attempt ended: CONTRACT.md, section 6. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace pipeline {

/// How one attempt ended.
struct AttemptEnd {
  int code = 0;             // what the trainer returned
  int signal = 0;           // that ended it; 0 where it returned
  bool hung = false;        // the watchdog ended it
  bool stopped = false;     // the run did
  bool progressed = false;  // it committed a checkpoint beyond every one before
  std::string cause;        // in a few words, for people
};

struct Verdict {
  enum class Kind : std::uint8_t { kDone, kAgain, kFail, kStopped };
  Kind kind = Kind::kFail;
  std::chrono::milliseconds wait{0};  // before the next attempt
  Code code = Code::kInternal;        // of a failure
  std::string why;                    // of a failure, or of another attempt
};

/// One training. One thread.
class RestartPolicy {
 public:
  /// `restarts`: attempts in a row without a new checkpoint before it is given up.
  explicit RestartPolicy(std::int64_t restarts) : restarts_(restarts) {}

  /// Counts the attempt. kDone is for the caller to hold against result.json.
  Verdict Judge(const AttemptEnd& end);

 private:
  Verdict Held(const AttemptEnd& end);
  Verdict Again(const AttemptEnd& end, bool waits);

  const std::int64_t restarts_;
  std::int64_t barren_ = 0;  // attempts in a row without a new checkpoint
  int waits_ = 0;            // in a row
  bool had_bug_ = false;
};

}  // namespace pipeline
