#include "plugins/train/hosts/restart_policy.h"

#include <algorithm>
#include <csignal>

#include "base/str.h"

namespace pipeline {

namespace {

using Kind = RestartDecision::Kind;

constexpr std::chrono::seconds kFirstWait{1};
constexpr std::chrono::seconds kLongestWait{60};

RestartDecision GiveUp(Code code, const TrainerEnd& end, std::string_view why) {
  return {Kind::kFail, {}, code, StrCat(end.cause, why.empty() ? "" : ": ", why)};
}

}  // namespace

RestartDecision RestartPolicy::Decide(const TrainerEnd& end) {
  barren_ = end.progressed ? 0 : barren_ + 1;
  if (end.good()) return {Kind::kDone, {}, Code::kOk, {}};
  if (end.stopped) return {Kind::kStopped, {}, Code::kCancelled, {}};
  if (end.fatal) return GiveUp(Code::kFailedPrecondition, end, {});
  if (end.hung || end.again) return Again(end, true);
  if (end.signal != 0 || end.code >= 128) {
    // JAX aborts a process that lost another one, or waited for it in vain.
    if (several_ && (end.signal == SIGABRT || end.code == 128 + SIGABRT)) return Again(end, true);
    if (end.progressed) return Again(end, false);
    const bool killed = end.signal == 9 || end.code == 128 + 9;
    return GiveUp(Code::kUnavailable, end,
                  killed ? "the kernel kills a process when memory is full: give it a smaller batch or "
                           "model, or a larger machine"
                         : "it left no checkpoint to go on from");
  }
  switch (end.code) {
    case 42: return Again(end, false);
    case 69:
    case kExitTryAgain: return Again(end, true);
    case 76: return Held(end);
    case 64: return GiveUp(Code::kInvalidArgument, end, "the job or its `config` is wrong");
    case kExitDamagedData:
      return GiveUp(Code::kDataLoss, end, "the data is damaged, or other data than before");
    case 78: return GiveUp(Code::kFailedPrecondition, end, "the environment cannot run it");
    case 86:
      return GiveUp(Code::kFailedPrecondition, end,
                    "the training diverged; lower the learning rate, or change `seed`");
    case kExitBug:
      if (end.progressed && !had_bug_) {
        had_bug_ = true;
        return Again(end, false);
      }
      return GiveUp(Code::kInternal, end, "a bug of the trainer");
    default: return GiveUp(Code::kInternal, end, "CONTRACT.md has no such exit code");
  }
}

/// The other program decides how long this takes, so it does not count as an attempt.
RestartDecision RestartPolicy::Held(const TrainerEnd& end) {
  if (!end.progressed) --barren_;
  return {Kind::kAgain, kLongestWait, Code::kOk, end.cause};
}

RestartDecision RestartPolicy::Again(const TrainerEnd& end, bool waits) {
  if (barren_ > restarts_)
    return GiveUp(Code::kUnavailable, end,
                  StrCat("given up after ", barren_, barren_ == 1 ? " attempt" : " attempts in a row",
                         " without a new checkpoint (`restarts: ", restarts_, "`)"));
  waits_ = waits && barren_ > 0 ? waits_ + 1 : 0;
  std::chrono::milliseconds wait{0};
  if (waits)
    wait = std::min<std::chrono::milliseconds>(kFirstWait * (1 << std::min(std::max(waits_ - 1, 0), 10)),
                                               kLongestWait);
  return {Kind::kAgain, wait, Code::kOk, end.cause};
}

}  // namespace pipeline
