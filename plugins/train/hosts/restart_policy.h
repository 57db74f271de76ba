// Decides what follows an attempt: CONTRACT.md, section 6. No side effects.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "plugins/train/hosts/training_end.h"

namespace pipeline {

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
  RestartDecision Decide(const TrainerEnd& end);

 private:
  RestartDecision Held(const TrainerEnd& end);
  RestartDecision Again(const TrainerEnd& end, bool waits);

  const std::int64_t restarts_;
  const bool several_;
  std::int64_t barren_ = 0;  // consecutive attempts without a new checkpoint
  int waits_ = 0;            // consecutive
  bool had_bug_ = false;
};

}  // namespace pipeline
