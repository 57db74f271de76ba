// Runs each kind of unit on the unit's own thread, and updates its segment state afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "dag/run/publisher.h"
#include "dag/run/run_state.h"
#include "dag/run/segment_state.h"
#include "dag/run/segment_unit.h"

namespace pipeline {

/// Why the outputs of an input are void whose source changed.
inline constexpr std::string_view kSourceChanged = "its source was changed while it was read";

/// Safe from any thread: each unit calls one of these methods on its own thread without the lock, which
/// they take for reporting only. An error is a failure of the whole unit. A damaged partition output that
/// will be made again is no error.
class UnitRunner {
 public:
  /// `run` outlives the runner.
  explicit UnitRunner(RunState& run) : run_(run) {}

  /// Makes the stages of `state`. Its artifacts exist now.
  Status Make(SegmentState& state);
  /// Reads input `number` to its end.
  Status Stream(SegmentState& state, std::uint32_t number);
  /// Reads these small inputs to their ends, one after the other. It reports their failures itself.
  Status StreamGroup(SegmentState& state, const std::vector<std::uint32_t>& numbers);
  /// Reads one upstream partition. `remade`: it was made again in this run.
  Status Partition(SegmentState& state, const PartitionOutput& output, bool remade);
  Status Job(SegmentState& state);
  /// Checks the whole set of partition outputs, and makes the publisher if the segment publishes.
  Status PlanShards(SegmentState& state);
  /// Writes one group of shards. `publisher` was the segment's publisher when the unit started.
  Status WriteShards(SegmentState& state, Publisher& publisher, std::size_t group);
  /// Copies the artifact from another location to the segment's own.
  Status Copy(SegmentState& state);
  /// Removes all partition outputs that nothing unfinished needs now. If that fails: they stay, and a warning
  /// says so.
  void RemoveUnneeded();

 private:
  friend class CutInputs;

  void RemoveOutputsOf(const SegmentState& state) const;
  /// `input`: the input that the unit reads to its end. Absent: it reads a partition.
  UnitContext ContextOf(SegmentState& state, std::optional<std::uint32_t> input = std::nullopt);
  /// Notes the outcome of reading an input, and returns it. `remakes`: RunState::remakes when it began.
  Status Settle(SegmentState& state, std::uint32_t number, std::uint64_t remakes, Status outcome);
  Status ReadFile(const UnitContext& unit, const SegmentState& state, std::uint32_t number,
                  const OutputsOfInput& made);
  /// Handles a file that could not be read. OK: it is downloaded and read again.
  Status ReadAnew(SegmentState& state, std::uint32_t number, Status why);
  /// Invalidates all partition outputs of input `number`, also those of earlier runs: their bytes are not
  /// trusted.
  void InvalidateInput(SegmentState& state, std::uint32_t number, std::string_view why) REQUIRES(run_.mutex);
  Status ReadBarrier(const UnitContext& unit, SegmentState& barrier, const OutputsOfInput& made);
  /// Reads the output of a barrier stage that takes all partition outputs of other segments.
  Status ReadSideInputs(const UnitContext& unit, SegmentState& state, const OutputsOfInput& made);

  /// Checks expectations again before all of `whole` is read: an earlier run may have failed them and left
  /// its partition outputs.
  Status CheckSegment(const SegmentState& whole);
  /// Checks `last` and then each segment upstream; returns the first failure. If no record reached the end:
  /// the message says where and why they were dropped.
  Status CheckLine(const SegmentState& last, const ArtifactSummary& summary) const;

  /// Handles a failed unit that read all of `producer`: makes a damaged partition output again, and the
  /// reader waits for it. Other errors are returned. `remade`: outputs that were made again before the unit
  /// began.
  Status MakeAgain(SegmentState& producer, const std::set<PartitionId>& remade, Status why);
  /// Handles a failure of the second pass: makes a damaged partition output again. Other errors are
  /// returned. `current`: the unit read the outputs that exist now, not those from before one of them was
  /// made again.
  Status Damaged(SegmentState& state, Status why, bool current);
  /// The same for a reader of all outputs: if they are removed, `producer` makes all of them again.
  void RemakeForAll(SegmentState& producer, PartitionId id, const Status& why) REQUIRES(run_.mutex);
  /// Has `producer` make a damaged partition output again, once per output and run.
  void Remake(SegmentState& producer, PartitionId id, const Status& why) REQUIRES(run_.mutex);
  /// Has `producer` make the removed outputs `ids` again, which are needed again.
  void Restore(SegmentState& producer, const std::vector<PartitionId>& ids) REQUIRES(run_.mutex);
  /// The part of Remake and Restore that is the same: `producer` lacks the output from now on.
  void Forget(SegmentState& producer, PartitionId id, const Status& why) REQUIRES(run_.mutex);
  /// Returns to the first pass: a partition here or upstream is being made again, so counts cannot be
  /// totalled yet.
  Status SendBack(SegmentState& state) REQUIRES(run_.mutex);

  Status Finish(SegmentState& state, SegmentState::Phase from);
  Status Done(SegmentState& state);
  /// Clears the logged failures of the segment's units, of this run and of earlier ones: all of `state` is
  /// complete.
  void ForgetFailures(const SegmentState& state);

  RunState& run_;
};

}  // namespace pipeline
