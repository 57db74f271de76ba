#include "plugins/train/slice/external_host.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/str.h"
#include "base/words.h"
#include "plugins/train/hosts/host_address.h"

namespace pipeline {

namespace {

constexpr int kStopped = 42;  // CONTRACT.md, section 6

/// Reads ADDRESS:PORT, where an IPv6 address has brackets. If the leader found no port, both stay empty, and
/// the programs fail to meet.
JointAttempt JointOf(const AttemptRecord& attempt) {
  JointAttempt joint;
  joint.step = attempt.step;
  Result<std::string> address = ParseProcessAddress(attempt.coordinator);
  if (!address.ok()) return joint;
  joint.address = std::move(*address);
  const std::string& whole = attempt.coordinator;
  joint.port = ParseNumber<int>(whole.substr(whole.rfind(':') + 1)).value_or(0);
  return joint;
}

}  // namespace

Result<ProgramStart> ExternalHost::Begin(const AttemptRecord& attempt) {
  const JointAttempt joint = JointOf(attempt);
  ASSIGN_OR_RETURN(ProgramStart start, program_.Begin(attempt.number, &joint));
  newest_ = std::max<std::int64_t>(newest_, attempt.step);
  Start();
  if (shared() || job_.position.host != 0) return start;
  bucket_.emplace(job_.run_uri + "/checkpoints", job_.settings["keep_checkpoints"].AsInt(1),
                  *training_.call.storage);
  // Other hosts may still bring it, however many are newer.
  bucket_->Protect({attempt.step}, std::numeric_limits<std::int64_t>::max());
  mirror_ = std::make_unique<CheckpointMirror>(
      *bucket_, training_.directory, training_.call, job_.grace_or_least(),
      [this] { training_.bucket->SendJournal(); }, [this](std::int64_t step) { checkpoints_.Marked(step); });
  return start;
}

void ExternalHost::Hear(const Json& event) {
  const std::int64_t step = event["step"].AsInt(-1);
  const std::string_view kind = event["kind"].AsString();
  if (kind != "ckpt_commit" && kind != "restore") return;
  if (kind == "restore") {  // in a directory of all hosts, the program chooses
    newest_ = before_ = std::max<std::int64_t>(newest_, step);
    return;
  }
  newest_ = std::max<std::int64_t>(newest_, step);
  if (mirror_) mirror_->Committed(step);
}

Result<TrainerEnd> ExternalHost::End(TrainerEnd ended) {
  Status sent;
  Result<TrainerEnd> judged = program_.Judge(std::move(ended));
  if (mirror_) {
    sent = mirror_->Finish();
    mirror_.reset();
    bucket_.reset();
  }
  ASSIGN_OR_RETURN(TrainerEnd end, std::move(judged));
  end.cause = StrCat("host ", job_.position.host, ": ", end.cause);
  if (end.stopped && !end.good()) {
    // Whatever it ended with, it was asked to.
    end.code = kStopped;
    end.signal = 0;
    end.fatal = end.again = false;
  }
  if (end.good() && !sent.ok()) {
    end.fatal = true;
    end.cause = StrCat("host 0: the program has done its steps, and its last checkpoint cannot be sent: ",
                       sent.message());
  }
  return end;
}

}  // namespace pipeline
