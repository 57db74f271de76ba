// What each kind of unit does on the thread that it has, and what becomes of its track then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "dag/publisher.h"
#include "dag/run_state.h"
#include "dag/segment_unit.h"
#include "dag/track.h"

namespace pipeline {

/// Safe from any thread: each unit calls one of these on its own, without the lock, and takes it for
/// reporting only. An error is a failure of the whole unit; a piece that was found damaged and will be made
/// again is none.
class UnitRunner {
 public:
  /// `run` outlives it.
  explicit UnitRunner(RunState& run) : run_(run) {}

  /// Makes the stages of `track`, whose artifacts are there now.
  Status Make(Track& track);
  /// Reads input `number` to its end.
  Status Stream(Track& track, std::uint32_t number);
  /// Reads one partition of the track's origin. `remade`: the piece was made again in this run.
  Status Partition(Track& track, const Piece& piece, bool remade);
  Status Job(Track& track);
  /// Judges the pieces, and makes the track's publisher where there is something to publish.
  Status PlanShards(Track& track);
  /// `publisher` is that of the track when the unit was started.
  Status Gather(Track& track, Publisher& publisher, std::size_t group);
  /// Brings what was published elsewhere to the track's place.
  Status Copy(Track& track);

 private:
  UnitEvents EventsOf(Track& track);
  Status ReadFile(Track& track, std::uint32_t number, const InputPieces& standing, const UnitEvents& events);
  /// What becomes of a file that could not be read: OK where it comes anew and is read again.
  Status ReadAnew(Track& track, std::uint32_t number, Status why);
  /// What stands of input `number`, whoever made it, is of bytes that are not trusted.
  void VoidInput(Track& track, std::uint32_t number, std::string_view why) REQUIRES(run_.mutex);
  Status ReadGathered(Track& track, const InputPieces& standing, const UnitEvents& events);
  /// What a Gather stage gives of the pieces that it takes whole, of other tracks.
  Status ReadTaken(Track& track, const InputPieces& standing, const UnitEvents& events);

  /// The verdict on what is about to be read as a whole: a run that found it wanting may be over, its pieces
  /// stand.
  Status JudgeWhole(const Track& whole);
  /// The verdicts of `last` and of the tracks before it on the line, the nearest that is none; where no
  /// record came to the end, with what became of them.
  Status JudgeLine(const Track& last, const ArtifactSummary& summary) const;

  /// A failure of who read pieces of `producer` as a whole: a damaged one is made again, and the reader waits
  /// for it; anything else stays a failure. `remade`: those that were made again before it began.
  Status MakeAgain(Track& producer, const std::set<PartitionId>& remade, Status why);
  /// A failure of the second pass: a damaged piece is made again, anything else stays a failure. `current`:
  /// the pieces are those that stand, not what other groups had before one of them was made again.
  Status Damaged(Track& track, Status why, bool current);
  /// A piece was found damaged: its producer is wanted again, once per piece and run.
  void Remake(Track& producer, PartitionId id, const Status& why) REQUIRES(run_.mutex);
  /// A piece, its own or of what it was made from, is being made again: its lines were no whole to sum up.
  Status SendBack(Track& track) REQUIRES(run_.mutex);

  Status Finish(Track& track, const std::vector<Piece>& pieces, Track::Phase from);
  Status Done(Track& track);
  /// What of its units failed once, in this run or before, was made good: all of `track` is there.
  void ForgetFailures(const Track& track);

  RunState& run_;
};

}  // namespace pipeline
