// How a trainer, and how a whole training, has ended.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace pipeline {

/// Exit codes of a trainer that the stage gives as well: CONTRACT.md, section 6.
inline constexpr int kExitDamagedData = 65;
inline constexpr int kExitBug = 70;
inline constexpr int kExitTryAgain = 75;

/// How the trainers of one host ended in one attempt.
struct TrainerEnd {
  std::int64_t attempt = 0;
  int code = 0;             // exit code
  int signal = 0;           // that killed it; 0: it exited
  bool hung = false;        // its host's watchdog ended it
  bool stopped = false;     // because the run was stopped; not in a card, which has `leaves`
  bool progressed = false;  // it committed a checkpoint newer than all before
  bool lost = false;        // its host was cut off and ended it, so the attempt has lost this host
  bool fatal = false;       // of an external trainer: another attempt would end in the same way
  bool again = false;       // of an external trainer: another attempt may do better, whatever its code
  std::string cause;        // a few words for people
  bool good() const { return code == 0 && signal == 0 && !hung && !fatal && !again; }
  bool operator==(const TrainerEnd&) const = default;
};

/// How the whole run ended, as the leader says it.
enum class TrainingOutcome : std::uint8_t { kDone, kStopped, kFailed };
struct TrainingEnd {
  TrainingOutcome outcome = TrainingOutcome::kDone;
  Code code = Code::kOk;  // of a failure
  std::string message;    // of a failure
  bool operator==(const TrainingEnd&) const = default;
};
/// The end of a run that this failure ends.
inline TrainingEnd Failed(const Status& why) {
  return {.outcome = TrainingOutcome::kFailed, .code = why.code(), .message = std::string(why.message())};
}

}  // namespace pipeline
