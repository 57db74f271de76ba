#include "plugins/train/hosts/member.h"

#include <utility>

#include "base/str.h"

namespace pipeline {

namespace {

using MemberKind = MemberStep::Kind;

MemberStep Finished(TrainingEnd end) {
  return {.kind = MemberKind::kFinish, .attempt = {}, .end = std::move(end), .why = {}};
}

}  // namespace

Member::Member(HostCard card, const HostTiming& timing, Time now)
    : timing_(timing), card_(std::move(card)), leader_(timing.given_up, now), renewed_(now) {}

void Member::SawAttempt(std::optional<AttemptRecord> attempt, bool ended) {
  attempt_ = std::move(attempt);
  attempt_ended_ = ended;
}

void Member::Started() {
  card_.trains = attempt_->number;
  card_.ended.reset();
}

void Member::Ended(TrainerEnd end) {
  end.attempt = card_.trains;
  card_.trains = 0;
  card_.ended = std::move(end);
}

bool Member::Belongs(const AttemptRecord& attempt) const {
  const auto own = static_cast<std::size_t>(card_.host);
  return own < attempt.nonces.size() && attempt.nonces[own] == card_.nonce;
}

std::string Member::Over(Time now) const {
  if (superseded_) return StrCat("host ", card_.host, " was started again elsewhere");
  if (now - renewed_ > timing_.own_limit)
    return StrCat("this host could not renew its sign of life for ", WholeSeconds(now - renewed_), " s");
  if (!attempt_ || attempt_->number != card_.trains)
    return StrCat("attempt ", card_.trains, " is not the newest any more");
  if (attempt_ended_) return StrCat("the leader ended attempt ", card_.trains);
  if (leads()) return {};
  if (leader_.SilentFor(now) > timing_.given_up)
    return StrCat("host 0 gave no sign of life for ", WholeSeconds(leader_.SilentFor(now)), " s");
  if (leader_.card() && leader_.card()->nonce != attempt_->nonces[0]) return "host 0 was started again";
  if (leader_.card() && leader_.card()->over) return "host 0 ended the run";
  return {};
}

std::optional<LocalCheckpoint> Member::ToSend(Time now) const {
  if (!MayWrite(now)) return {};
  if (leads()) return card_.send;
  return leader_.Fresh(now) ? leader_.card()->send : std::nullopt;
}

MemberStep Member::Next(Time now) const {
  if (trains()) {
    std::string why = Over(now);
    if (!why.empty()) return {.kind = MemberKind::kKill, .attempt = {}, .end = {}, .why = std::move(why)};
    return {};
  }
  if (superseded_)
    return Finished(Failed(
        Status(Code::kFailedPrecondition, StrCat("host ", card_.host,
                                                 " was started again, here or on another machine; this "
                                                 "start ends"))));
  if (card_.leaves && !leads())
    return Finished({.outcome = TrainingOutcome::kStopped, .code = Code::kCancelled, .message = {}});
  if (!leads()) {
    if (published_) return Finished({});
    // The words of an earlier run do not change any more.
    if (leader_.Fresh(now) && leader_.card()->over) return Finished(*leader_.card()->over);
    if (leader_.SilentFor(now) > timing_.hosts_wait)
      return Finished(Failed(
          Status(Code::kUnavailable,
                 StrCat("host 0 gave no sign of life for ", WholeSeconds(leader_.SilentFor(now)) / 60,
                        " min; start the same command on every host, with the same file, keys and `out`"))));
  }
  const bool startable = attempt_ && !attempt_ended_ && Belongs(*attempt_) && !card_.leaves &&
                         !(card_.ended && card_.ended->attempt == attempt_->number) && MayWrite(now) &&
                         (leads() || (leader_.Fresh(now) && leader_.card()->nonce == attempt_->nonces[0]));
  if (startable) return {.kind = MemberKind::kStart, .attempt = *attempt_, .end = {}, .why = {}};
  return {};
}

}  // namespace pipeline
