#include "dag/executor.h"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/str.h"
#include "dag/failures.h"
#include "dag/job_unit.h"
#include "dag/prepare_tracks.h"
#include "dag/publisher.h"
#include "dag/track.h"
#include "dag/unit_id.h"
#include "dag/unit_threads.h"
#include "records/piece.h"

namespace pipeline {

namespace {

constexpr std::string_view kSourceChanged = "its source was changed while it was read";

}  // namespace

/// Decides under one lock; units work outside it and report back.
class Executor::Coordinator {
 public:
  Coordinator(const Graph& graph, const Plan& plan, const Facts& facts, const Environment& environment,
              const RunOptions& options)
      : graph_(graph),
        plan_(plan),
        facts_(facts),
        environment_(environment),
        options_(options),
        failures_(*environment.log, options.keep_going, stop_) {
    if (const std::optional<UnitId> only = ParseUnitId(options.share.unit)) only_ = *only;
  }

  Status Prepare() {
    ASSIGN_OR_RETURN(prepared_, PrepareTracks(graph_, plan_, environment_, options_));
    // A slot more for each that may wait, for a decoder or a command, without keeping a core idle.
    arena_ = std::make_unique<Arena>(options_.threads + prepared_.streams + prepared_.readers);
    return {};
  }

  Status Claim() { return pipeline::ClaimPlaces(prepared_); }

  RunOutcome Run(std::stop_token stop) {
    const std::stop_callback relay(stop, [this] {
      stop_.request_stop();
      // Taken and given back, so that the coordinator is either before its check or really waiting.
      { const std::scoped_lock lock(mutex_); }
      changed_.notify_all();
    });
    RunOutcome outcome;
    outcome.status = DescribeSegments(prepared_, *environment_.log);
    if (!outcome.status.ok()) return outcome;
    std::unique_lock lock(mutex_);
    while (true) {
      threads_.JoinFinished(lock);
      if (!stop_.stop_requested()) StartReady();
      if (threads_.empty()) break;
      changed_.wait(lock, [this] { return threads_.any_finished() || woken_; });
      woken_ = false;
    }
    return Outcome(stop);
  }

 private:
  // --- Scheduling: under the lock.

  bool HasRoom() const { return threads_.processing() < std::max(options_.threads, 2); }

  void StartReady() {
    bool started = true;
    while (started && HasRoom() && !stop_.stop_requested()) {
      started = false;
      for (const std::unique_ptr<Track>& track : prepared_.tracks)
        if (HasRoom() && track->active() && StartOne(*track)) started = true;
    }
  }

  bool Does(Share::Of share) const { return options_.share.of == share; }

  bool StartOne(Track& track) {
    if (Does(Share::Of::kOneUnit) && track.name() != only_.stage) return false;
    switch (track.phase) {
      case Track::Phase::kPieces:
        if (!track.planned->copy_from.empty()) {
          track.phase = Track::Phase::kFinishing;
          Start(track, ToString(UnitId{track.name(), JobId{}}), [this, &track] { return Copy(track); });
          return true;
        }
        if (track.stages != Track::Stages::kMade) return StartMaking(track);
        if (track.planned->job) return StartJob(track);
        if (track.pieces_complete() && track.running == 0) {
          if (Does(Share::Of::kOneUnit) && !std::holds_alternative<ShardId>(only_.part)) return false;
          track.phase = Track::Phase::kPlanning;
          Start(track, ToString(UnitId{track.name(), JobId{}}), [this, &track] { return PlanShards(track); });
          return true;
        }
        return track.origin ? StartPartition(track) : StartStream(track);
      case Track::Phase::kPublishing: return StartGroup(track);
      default: return false;
    }
  }

  /// Once what a track takes whole is there, its stages can be made.
  bool StartMaking(Track& track) {
    if (track.stages != Track::Stages::kLacking || !track.has_artifacts()) return false;
    track.stages = Track::Stages::kBeingMade;
    Start(track, ToString(UnitId{track.name(), JobId{}}), [this, &track] {
      Status made = MakeStages(graph_, plan_, prepared_.streams, track);
      const std::scoped_lock lock(mutex_);
      track.stages = Track::Stages::kMade;
      if (!made.ok()) track.phase = Track::Phase::kFailed;
      Wake();
      return made;
    });
    return true;
  }

  bool StartJob(Track& track) {
    if (track.running > 0 || (track.origin != nullptr && !track.origin->done())) return false;
    if (!Does(Share::Of::kAll)) track.phase = Track::Phase::kElsewhere;
    const std::string unit = ToString(UnitId{track.name(), JobId{}});
    Launch(
        track, unit, unit, [this, &track] { return Job(track); }, UnitThreads::Load::kJob);
    return true;
  }

  bool StartStream(Track& track) {
    if (track.gather != nullptr && !track.gather->done()) return false;
    for (std::size_t at = 0; at < track.inputs.size(); ++at) {
      Track::Input& input = track.inputs[at];
      if (input.running || input.given_up || input.pieces.complete()) continue;
      input.running = true;
      const auto number = static_cast<std::uint32_t>(at);
      const std::string unit = ToString(UnitId{track.name(), StreamId{number}});
      Launch(track, unit, unit, [this, &track, number] { return Stream(track, number); });
      return true;
    }
    return false;
  }

  bool StartPartition(Track& track) {
    const std::optional<Piece> piece = track.TakeReady();
    if (!piece) return false;
    const bool remade = track.origin->remade.contains(piece->id);
    const std::string unit = ToString(UnitId{track.name(), piece->id});
    Launch(track, unit, unit,
           [this, &track, piece = *piece, remade] { return Partition(track, piece, remade); });
    return true;
  }

  bool StartGroup(Track& track) {
    if (track.next_group >= track.publisher->groups().size()) return false;
    const std::size_t group = track.next_group++;
    Launch(track, track.publisher->UnitOf(group), ToString(UnitId{track.name(), JobId{}}),
           [this, &track, publisher = track.publisher, group] { return Gather(track, *publisher, group); });
    return true;
  }

  /// Starts what takes long as `name`, or leaves it as `unit` to another process.
  void Launch(Track& track, std::string unit, std::string name, std::function<Status()> work,
              UnitThreads::Load load = UnitThreads::Load::kProcessing) {
    if (Does(Share::Of::kPlanning)) {
      offered_.push_back({std::move(unit), track.planned->recipe()});
    } else if (Does(Share::Of::kAll) || unit == options_.share.unit) {
      ran_ = true;
      Start(track, std::move(name), std::move(work), load);
    }
  }

  void Start(Track& track, std::string unit, std::function<Status()> work,
             UnitThreads::Load load = UnitThreads::Load::kProcessing) {
    ++track.running;
    threads_.Start(mutex_, load,
                   [this, &track, unit = std::move(unit), work = std::move(work)]() -> std::function<void()> {
                     return [this, &track, unit, outcome = work()] {
                       --track.running;
                       if (!outcome.ok()) failures_.Fail(track, unit, outcome);
                       changed_.notify_all();
                     };
                   });
  }

  // --- Units: on threads of their own, the lock only for reporting.

  UnitEvents EventsOf(Track& track) {
    UnitEvents events;
    events.logged = [this, &track](InputPieces::Standing standing) {
      const std::scoped_lock lock(mutex_);
      const PartitionId id = standing.piece.id;
      const std::string unit = ToString(UnitId{track.name(), id});
      if (track.phase == Track::Phase::kFailed)
        return failures_.Log(UnitState::kVoid, unit, 0, std::string(kSourceChanged));
      track.logged.push_back(unit);
      track.inputs[id.input].pieces.standing.insert_or_assign(id.partition, std::move(standing));
      for (Track* reader : track.readers) reader->Offer(id);
      Wake();
    };
    events.failed = [this, &track](PartitionId id, const Status& why) {
      const std::scoped_lock lock(mutex_);
      track.failed.insert(id);
      return failures_.Record(ToString(UnitId{track.name(), id}), why);
    };
    events.ended = [](const InputEnd&) {};
    return events;
  }

  void Wake() {
    woken_ = true;
    changed_.notify_all();
  }

  Status Stream(Track& track, std::uint32_t number) {
    InputPieces standing;
    std::uint64_t remakes = 0;
    {
      const std::scoped_lock lock(mutex_);
      standing = track.inputs[number].pieces;
      remakes = remakes_;
    }
    UnitEvents events = EventsOf(track);
    events.ended = [this, &track, number](const InputEnd& end) {
      const std::scoped_lock lock(mutex_);
      track.SetEnd(number, end);
      Wake();
    };
    Status outcome = track.gather != nullptr ? ReadGathered(track, standing, events)
                                             : ReadFile(track, number, standing, events);
    const std::scoped_lock lock(mutex_);
    Track::Input& input = track.inputs[number];
    input.running = false;
    // Partitions that failed stay missing: to try them again in this run would fail again.
    if (!outcome.ok() || !track.failed.empty()) input.given_up = true;
    if (!input.given_up && !input.pieces.complete() && remakes == remakes_) {
      input.given_up = true;
      return Status(Code::kInternal, "its Source ended without all that was asked of it [this is a bug]");
    }
    if (outcome.code() == Code::kFailedPrecondition && track.gather == nullptr) {
      // What this run made of it is of no known content.
      failures_.VoidAll(track, kSourceChanged);
    }
    return outcome;
  }

  Status ReadFile(Track& track, std::uint32_t number, const InputPieces& standing, const UnitEvents& events) {
    if (track.planned->files < 0)  // it had all its pieces when the run began
      return Status(Code::kUnavailable, "what it is made from is not there any more; run again");
    const Facts::Files& source =
        facts_.files.at(graph_.nodes()[static_cast<std::size_t>(track.planned->files)].spec->name);
    // Nothing was to be read when the run began; a partition that was found damaged changed that.
    RETURN_IF_ERROR(source.missing);
    return RunStreamUnit(track.scope, *arena_, source.files[number], number, standing, events,
                         stop_.get_token());
  }

  Status ReadGathered(Track& track, const InputPieces& standing, const UnitEvents& events) {
    Track& gather = *track.gather;
    std::vector<Piece> pieces;
    std::set<PartitionId> remade;
    {
      const std::scoped_lock lock(mutex_);
      pieces = gather.all_pieces();
      remade = gather.remade;
    }
    Status outcome = RunGatherUnit(track.scope, *arena_, *gather.scope.directory, std::move(pieces), standing,
                                   events, stop_.get_token());
    return MakeAgain(gather, remade, std::move(outcome));
  }

  Status Job(Track& track) {
    std::vector<Piece> pieces;
    std::set<PartitionId> remade;
    if (track.origin != nullptr) {
      const std::scoped_lock lock(mutex_);
      pieces = track.origin->all_pieces();
      remade = track.origin->remade;
    }
    Status outcome = RunJobUnit(graph_, track, std::move(pieces), stop_.get_token());
    if (!outcome.ok()) return track.origin ? MakeAgain(*track.origin, remade, std::move(outcome)) : outcome;
    {
      const std::scoped_lock lock(mutex_);
      track.phase = Track::Phase::kFinishing;
    }
    return Done(track);
  }

  /// A failure of who read pieces of `producer` as a whole: a damaged one is made again, and the reader waits
  /// for it; anything else stays a failure. `remade`: those that were made again before it began.
  Status MakeAgain(Track& producer, const std::set<PartitionId>& remade, Status why) {
    const std::optional<PartitionId> piece = DamagedPiece(why);
    if (!piece || remade.contains(*piece)) return why;
    const std::scoped_lock lock(mutex_);
    Remake(producer, *piece, why);
    return {};
  }

  /// `remade`: the piece was made again in this run.
  Status Partition(Track& track, const Piece& piece, bool remade) {
    const Node& made_by = graph_.nodes()[static_cast<std::size_t>(track.origin->planned->node)];
    Status outcome = RunPartitionUnit(track.scope, *arena_, *track.origin->scope.directory, piece,
                                      made_by.out, EventsOf(track), stop_.get_token());
    if (!DamagedPiece(outcome)) return outcome;
    const std::scoped_lock lock(mutex_);
    Track& origin = *track.origin;
    track.inputs[piece.id.input].begun.erase(piece.id.partition);
    if (remade) return outcome;
    Remake(origin, piece.id, outcome);
    if (origin.inputs[piece.id.input].pieces.standing.contains(piece.id.partition)) track.Offer(piece.id);
    return {};
  }

  /// A piece was found damaged: its producer is wanted again, once per piece and run. Under the lock.
  void Remake(Track& producer, PartitionId id, const Status& why) {
    if (!producer.remade.insert(id).second) return;  // another reader found it as well
    ++remakes_;
    const std::string unit = ToString(UnitId{producer.name(), id});
    environment_.progress->Note(StrCat(unit, " is damaged (", why.message(), ") and will be made again"));
    failures_.Log(UnitState::kVoid, unit, 0, std::string(why.message()));
    Track::Input& input = producer.inputs[id.input];
    input.pieces.standing.erase(id.partition);
    input.begun.erase(id.partition);
    if (producer.origin) producer.Offer(id);
    for (Track* reader : producer.readers)
      if (producer.planned->varies && reader->stands(id)) Remake(*reader, id, why);
    producer.publisher.reset();
    if (producer.phase != Track::Phase::kFailed) producer.phase = Track::Phase::kPieces;
    Wake();
  }

  Status PlanShards(Track& track) {
    std::vector<Piece> pieces;
    std::uint64_t remakes = 0;
    {
      const std::scoped_lock lock(mutex_);
      if (!track.pieces_complete()) return SendBack(track);
      remakes = remakes_;
      pieces = track.all_pieces();
    }
    ArtifactSummary summary = Summarize(*environment_.log, *track.planned, pieces);
    {
      const std::scoped_lock lock(mutex_);
      if (remakes != remakes_) return SendBack(track);
      track.summary = std::move(summary);
    }
    // Before any shard is written. An origin's verdict counts here too: it may be one of an earlier run,
    // or not be spoken yet.
    for (const Track* above = &track; above != nullptr; above = above->origin)
      RETURN_IF_ERROR(Judge(graph_, above->planned->chain, above->scope.assembly, track.summary));
    if (!track.planned->publishes) return Finish(track, pieces, Track::Phase::kPlanning);
    auto publisher = std::make_shared<Publisher>(track.scope, *track.out);
    Status begun = publisher->Begin(pieces, GroupMemory(options_));
    if (!begun.ok()) return Damaged(track, std::move(begun), true);
    environment_.progress->Advanced(track.name(), publisher->standing(), publisher->shards());
    const bool none_left = publisher->groups().empty();
    {
      const std::scoped_lock lock(mutex_);
      track.publisher = publisher;
      track.next_group = track.groups_done = 0;
      track.phase = Track::Phase::kPublishing;
    }
    if (none_left) return Finish(track, pieces, Track::Phase::kPublishing);
    return {};
  }

  Status Gather(Track& track, Publisher& publisher, std::size_t group) {
    Status outcome = publisher.RunGroup(group, GroupMemory(options_), stop_.get_token());
    std::vector<Piece> pieces;
    bool last = false, current = false;
    {
      const std::scoped_lock lock(mutex_);
      pieces = track.all_pieces();
      current = track.publisher.get() == &publisher;
      if (outcome.ok()) last = current && ++track.groups_done == publisher.groups().size();
    }
    if (!outcome.ok()) return Damaged(track, std::move(outcome), current);
    environment_.progress->Advanced(track.name(), publisher.standing(), publisher.shards());
    return last ? Finish(track, pieces, Track::Phase::kPublishing) : Status();
  }

  /// A failure of the second pass: a damaged piece is made again, anything else stays a failure. `current`:
  /// the pieces are those that stand, not what other groups had before one of them was made again.
  Status Damaged(Track& track, Status why, bool current) {
    const std::optional<PartitionId> piece = DamagedPiece(why);
    if (!piece) return why;
    const std::scoped_lock lock(mutex_);
    if (current && track.remade.contains(*piece)) return why;
    Remake(track, *piece, why);
    return {};
  }

  /// A piece, its own or of what it was made from, is being made again: its lines were no whole to sum up.
  Status SendBack(Track& track) {
    track.phase = Track::Phase::kPieces;
    Wake();
    return {};
  }

  Status Finish(Track& track, const std::vector<Piece>& pieces, Track::Phase from) {
    if (Does(Share::Of::kOneUnit)) return {};  // `pipe plan` does it, when it has seen all shards
    {
      const std::scoped_lock lock(mutex_);
      if (!track.Advance(from, Track::Phase::kFinishing)) return {};
    }
    const Schema& schema = graph_.nodes()[static_cast<std::size_t>(track.planned->node)].out;
    if (track.publisher)
      RETURN_IF_ERROR(track.publisher->Finish(track.summary, schema));
    else if (!track.planned->takes_in)
      RETURN_IF_ERROR(FinishPieces(track.scope, schema, pieces, track.summary));
    return Done(track);
  }

  Status Copy(Track& track) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Store> from, OpenPlace(environment_, track.planned->copy_from));
    RETURN_IF_ERROR(CopyArtifact(track.scope, *from, *track.out, stop_.get_token()));
    return Done(track);
  }

  Status Done(Track& track) {
    {
      const std::scoped_lock lock(mutex_);
      if (track.phase != Track::Phase::kFinishing) return {};
      track.phase = Track::Phase::kDone;
    }
    const std::string& place = track.planned->place;
    environment_.progress->Note(place.empty() || place.starts_with(kWorkPlace)
                                    ? StrCat("stage '", track.name(), "' is complete")
                                    : StrCat("stage '", track.name(), "' published ", place));
    const std::string unit = ToString(UnitId{track.name(), JobId{}});
    const UnitLine* last = environment_.log->Find(unit);
    const std::scoped_lock lock(mutex_);
    if (last != nullptr && last->state == UnitState::kFailed)
      failures_.Log(UnitState::kVoid, unit, 0, "done since");
    track.Advance(Track::Phase::kFinishing, Track::Phase::kDone);
    return {};
  }

  RunOutcome Outcome(const std::stop_token& stop) {
    RunOutcome outcome;
    outcome.failures = failures_.Take();
    outcome.offered = std::move(offered_);
    outcome.ran = ran_;
    if (stop.stop_requested()) {
      outcome.status = Status(Code::kCancelled, "stopped");
    } else if (!outcome.failures.empty()) {
      outcome.status = Status(Code::kFailedPrecondition, StrCat(outcome.failures.size(), " failed"));
    } else if (Does(Share::Of::kAll) || (Does(Share::Of::kPlanning) && outcome.offered.empty())) {
      for (const std::unique_ptr<Track>& track : prepared_.tracks)
        if (track->active())
          outcome.status =
              Status(Code::kInternal, StrCat("stage '", track->name(), "' is stuck [this is a bug]"));
    }
    return outcome;
  }

  const Graph& graph_;
  const Plan& plan_;
  const Facts& facts_;
  const Environment& environment_;
  const RunOptions& options_;
  UnitId only_;  // the unit of options_.share; of no stage where there is none
  PreparedTracks prepared_;
  std::unique_ptr<Arena> arena_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::stop_source stop_;      // set by the caller's token and by the last failure allowed
  UnitThreads threads_;        // guarded by mutex_, like all below
  std::uint64_t remakes_ = 0;  // pieces that were found damaged
  bool woken_ = false;         // something can be started that could not before
  Failures failures_;
  std::vector<OfferedUnit> offered_;
  bool ran_ = false;  // something that takes long was started
};

Executor::Executor(const Graph& graph, const Plan& plan, const Facts& facts, const Environment& environment,
                   const RunOptions& options)
    : coordinator_(std::make_unique<Coordinator>(graph, plan, facts, environment, options)) {}

Executor::~Executor() = default;

Status Executor::Prepare() { return coordinator_->Prepare(); }

Status Executor::ClaimPlaces() { return coordinator_->Claim(); }

RunOutcome Executor::Run(std::stop_token stop) { return coordinator_->Run(std::move(stop)); }

}  // namespace pipeline
