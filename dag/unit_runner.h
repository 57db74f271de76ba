// Runs each kind of unit on the unit's own thread, and updates its segment state afterwards.
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

/// Safe from any thread: each unit calls one of these methods on its own thread without the lock, which
/// they take for reporting only. An error is a failure of the whole unit. A damaged partition output that
/// will be made again is no error.
class UnitRunner {
 public:
  /// `run` outlives the runner.
  explicit UnitRunner(RunState& run) : run_(run) {}

  /// Makes the stages of `track`. Its artifacts exist now.
  Status Make(Track& track);
  /// Reads input `number` to its end.
  Status Stream(Track& track, std::uint32_t number);
  /// Reads one upstream partition. `remade`: it was made again in this run.
  Status Partition(Track& track, const Piece& piece, bool remade);
  Status Job(Track& track);
  /// Checks the whole set of partition outputs, and makes the publisher if the segment publishes.
  Status PlanShards(Track& track);
  /// Writes one group of shards. `publisher` was the segment's publisher when the unit started.
  Status WriteShards(Track& track, Publisher& publisher, std::size_t group);
  /// Copies the artifact from another location to the segment's own.
  Status Copy(Track& track);

 private:
  UnitEvents EventsOf(Track& track);
  Status ReadFile(Track& track, std::uint32_t number, const InputPieces& standing, const UnitEvents& events);
  /// Handles a file that could not be read. OK: it is downloaded and read again.
  Status ReadAnew(Track& track, std::uint32_t number, Status why);
  /// Invalidates all partition outputs of input `number`, also those of earlier runs: their bytes are not
  /// trusted.
  void VoidInput(Track& track, std::uint32_t number, std::string_view why) REQUIRES(run_.mutex);
  Status ReadBarrier(Track& track, const InputPieces& standing, const UnitEvents& events);
  /// Reads the output of a barrier stage that takes all partition outputs of other segments.
  Status ReadTaken(Track& track, const InputPieces& standing, const UnitEvents& events);

  /// Checks expectations again before all of `whole` is read: an earlier run may have failed them and left
  /// its partition outputs.
  Status JudgeWhole(const Track& whole);
  /// Checks `last` and then each segment upstream; returns the first failure. If no record reached the end:
  /// the message says where and why they were dropped.
  Status JudgeLine(const Track& last, const ArtifactSummary& summary) const;

  /// Handles a failed unit that read all of `producer`: makes a damaged partition output again, and the
  /// reader waits for it. Other errors are returned. `remade`: outputs that were made again before the unit
  /// began.
  Status MakeAgain(Track& producer, const std::set<PartitionId>& remade, Status why);
  /// Handles a failure of the second pass: makes a damaged partition output again. Other errors are
  /// returned. `current`: the unit read the outputs that exist now, not those from before one of them was
  /// made again.
  Status Damaged(Track& track, Status why, bool current);
  /// Has `producer` make a damaged partition output again, once per output and run.
  void Remake(Track& producer, PartitionId id, const Status& why) REQUIRES(run_.mutex);
  /// Returns to the first pass: a partition here or upstream is being made again, so counts cannot be
  /// totalled yet.
  Status SendBack(Track& track) REQUIRES(run_.mutex);

  Status Finish(Track& track, const std::vector<Piece>& pieces, Track::Phase from);
  Status Done(Track& track);
  /// Clears the logged failures of the segment's units, of this run and of earlier ones: all of `track` is
  /// complete.
  void ForgetFailures(const Track& track);

  RunState& run_;
};

}  // namespace pipeline
