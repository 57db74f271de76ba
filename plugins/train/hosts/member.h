// The part of one host in a training on several hosts: when its trainer starts, when it ends, and when its
// job ends. hosts.md, sections 4 and 5. No I/O and no clock: the caller does both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plugins/train/hosts/host_card.h"
#include "plugins/train/hosts/host_timing.h"
#include "plugins/train/hosts/sign_watch.h"

namespace pipeline {

/// The next action of a host.
struct MemberStep {
  enum class Kind : std::uint8_t {
    kNothing,
    kStart,   // the trainer, for `attempt`
    kKill,    // the trainer, within seconds: the attempt is over, or may be
    kFinish,  // the job, with `end`
  };
  Kind kind = Kind::kNothing;
  AttemptRecord attempt;  // kStart
  TrainingEnd end;        // kFinish
  std::string why;        // kKill, for people
};

/// One start of the program on one host. One thread at a time. Times are on this machine's monotonic clock.
class Member {
 public:
  using Time = HostTiming::Time;

  /// `card`: the identity of this start, with a new nonce.
  Member(HostCard card, const HostTiming& timing, Time now);

  /// The content of this host's card; the caller changes `local`, `send` and `over`, and writes it.
  HostCard& card() { return card_; }
  const HostCard& card() const { return card_; }
  /// The card was replaced by its known version; `began` is the time before the request.
  void Renewed(Time began) { renewed_ = began; }
  /// The card has the nonce of another start: this host was started again elsewhere.
  void Superseded() { superseded_ = true; }

  /// The newest attempt, and whether it has an end; absent: there is none.
  void SawAttempt(std::optional<AttemptRecord> attempt, bool ended);
  /// The leader's card; absent: it could not be read. Not called on the leader itself.
  void SawLeader(const std::optional<HostCard>& card, Time now) { leader_.Saw(card, now); }
  /// The result of the whole run is published. Not called on the leader.
  void SawPublished() { published_ = true; }

  /// The attempt of the last kStart was accepted: its trainer runs, or its checkpoint is fetched first.
  void Started();
  /// The trainer has ended, and everything that it left is settled.
  void Ended(TrainerEnd end);
  /// The run was stopped on this host; the trainer was asked to save and to end. The leader's own end is
  /// decided by `Leader`, which tells the others.
  void AskedToStop() { card_.leaves = true; }

  MemberStep Next(Time now) const;
  /// The checkpoint that the leader asks all hosts to send; absent: none, or this host must not write now.
  std::optional<LocalCheckpoint> ToSend(Time now) const;

  /// As the leader says: the trainer of a host waits for files. Not called on the leader.
  bool AnyFetches(Time now) const { return leader_.Fresh(now) && leader_.card()->fetches; }
  /// The trainer of the leader runs in the attempt of this host. Not called on the leader.
  bool LeaderTrains(Time now) const {
    return trains() && leader_.Fresh(now) && leader_.card()->trains == card_.trains;
  }
  /// The leader says that the trainers of the attempt of this host save and end. Not called on the leader.
  bool LeaderStops(Time now) const {
    return trains() && leader_.Fresh(now) && leader_.card()->stop == card_.trains;
  }

  bool leads() const { return card_.host == 0; }
  bool trains() const { return card_.trains > 0; }
  /// False: a write of this host might come after the others gave it up.
  bool MayWrite(Time now) const { return !superseded_ && now - renewed_ <= timing_.own_limit; }

 private:
  /// Why the attempt that this host trains must not go on; empty: it may.
  std::string Over(Time now) const;
  /// True if this start belongs to the attempt.
  bool Belongs(const AttemptRecord& attempt) const;

  const HostTiming timing_;
  HostCard card_;
  SignWatch leader_;
  Time renewed_;
  bool superseded_ = false, published_ = false;
  std::optional<AttemptRecord> attempt_;  // the newest
  bool attempt_ended_ = false;
};

}  // namespace pipeline
