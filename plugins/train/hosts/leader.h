// The part of host 0 in a training on several hosts: when an attempt begins, when it ends, and why. hosts.md,
// sections 4 and 5. No I/O and no clock: the caller does both.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plugins/train/hosts/host_card.h"
#include "plugins/train/hosts/host_timing.h"
#include "plugins/train/hosts/recipe_search.h"
#include "plugins/train/hosts/sign_watch.h"

namespace pipeline {

/// The next action of the leader.
struct LeaderStep {
  enum class Kind : std::uint8_t {
    kNothing,
    kBegin,    // create `attempt`, with a coordinator and the digest of the data; then call Begun
    kEnd,      // create `end`, then call Closed; if `end.lost` is empty, `decided` goes to the restart policy
    kAllDone,  // every trainer ended well: the result can be published
    kFail,     // the run cannot go on, or was stopped on this host: `over`
  };
  Kind kind = Kind::kNothing;
  AttemptRecord attempt;
  AttemptEndRecord end;
  TrainerEnd decided;
  TrainingEnd over;
};

/// One run on the host that holds the lease. One thread at a time. Times are on this machine's monotonic
/// clock.
class Leader {
 public:
  using Time = HostTiming::Time;

  Leader(int hosts, const HostTiming& timing, Time now);

  /// A card of another host as it was read; absent: there is none, or it could not be read.
  void Saw(int host, const std::optional<HostCard>& card, Time now);
  /// The step of the newest marker; -1: there is none. No attempt begins before this is known.
  void Marked(std::int64_t step);

  /// The number of the newest attempt, of an earlier run or of another leader whose write arrived late.
  void SawNewest(std::int64_t number) { number_ = std::max(number_, number); }
  /// The record was created.
  void Begun(const AttemptRecord& attempt, Time now);
  /// The end of the attempt was created. `wait`: before the next attempt, as the restart policy says.
  void Closed(Time now, Time wait);

  /// `own`: the card of this host.
  LeaderStep Next(const HostCard& own, Time now);

  /// The newest checkpoint that every living host has on its disk and that is newer than the newest marker:
  /// all send it. Absent: there is none.
  std::optional<LocalCheckpoint> ToSend(const HostCard& own) const;

  /// The trainer of another host waits for files.
  bool OthersFetch(Time now) const;
  /// A host of the running attempt was stopped.
  bool OthersLeave() const;
  /// The newest attempt that this run began; absent: none, or it has ended.
  const std::optional<AttemptRecord>& attempt() const { return attempt_; }
  /// The hosts without a sign of life, "host 2 (10.0.0.3), host 3"; empty: all live.
  std::string Missing(Time now) const;
  /// Names the hosts whose trainers of the last attempt still run: the next attempt waits for them. Empty:
  /// none.
  std::string StillTrain(const HostCard& own) const;
  std::set<int> MissingHosts(Time now) const;
  /// The missing hosts that live with another recipe, for the names of `Missing`.
  void FoundElsewhere(std::map<int, RecipeSearch::Found> hosts) { elsewhere_ = std::move(hosts); }

 private:
  LeaderStep Await(const HostCard& own, Time now) const;
  LeaderStep Watch(const HostCard& own, Time now);
  /// True if the host has begun the running attempt.
  bool Accepted(const HostCard& card) const;
  /// Why host number `host` is lost to the running attempt; empty: it is not.
  std::string Lost(const SignWatch& watch, std::size_t host, Time now) const;
  /// Why a host does not fit the leader; empty: it does.
  static std::string Misfit(const HostCard& own, const HostCard& card);
  /// The newest local checkpoint from `least` on that every card lists with the same attempt.
  std::optional<LocalCheckpoint> NewestEverywhere(const HostCard& own, std::int64_t least) const;
  LeaderStep End(std::vector<int> lost, std::string reason, TrainerEnd decided) const;
  std::string Name(int host) const;

  const HostTiming timing_;
  std::vector<SignWatch> watches_;  // of host 1 and on
  std::int64_t number_ = 0;         // of the newest attempt; 0: there is none
  std::int64_t marked_ = -1;
  bool knows_markers_ = false;
  std::optional<AttemptRecord> attempt_;  // runs now
  std::int64_t marked_before_ = -1;       // when this attempt began
  Time since_;                            // when this attempt, or the wait for hosts, began
  Time not_before_;                       // the next attempt
  std::optional<Time> first_end_;         // when the first end of a trainer, or a leaving host, was seen
  int losses_ = 0;                        // attempts in a row that lost a host and left no new marker
  std::map<int, RecipeSearch::Found> elsewhere_;
};

/// The end among those of one attempt that explains it best: a failure that a restart does not mend before a
/// failure that another host's end may have caused. `ends` by host, not empty.
const TrainerEnd& Decisive(const std::map<int, TrainerEnd>& ends);

}  // namespace pipeline
