// Turns a plan into segment states that can run: makes stages, divides memory, marks locations. Called by
// one thread, before any unit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "base/result.h"
#include "dag/environment.h"
#include "dag/location/lease_keeper.h"
#include "dag/pipeline_file/graph.h"
#include "dag/plan/plan.h"
#include "dag/run/segment_state.h"

namespace pipeline {

struct PreparedSegments {
  IdVector<SegmentId, std::unique_ptr<SegmentState>> states;
  int streams = 0;  // stream units that may run at the same time
  int readers = 0;  // units with a Reader stage that may run at the same time

  /// Called under the coordinator's lock once units run.
  bool any_unneeded() const {
    return std::any_of(states.begin(), states.end(), [](const auto& state) { return state->is_unneeded(); });
  }
};

/// Writes nothing. kInvalidArgument: the limits are too small, or a stage cannot be made. A segment that
/// reads the artifact of a stage that has not run yet stays without its stages. All arguments outlive the
/// result.
Result<PreparedSegments> PrepareSegments(const Graph& graph, const Plan& plan, const Environment& environment,
                                         const RunOptions& options);

/// Returns the least memory for one unit of a segment that is no Job, on one core. While the stages are not
/// made, artifacts that they read are not counted.
std::uint64_t LeastMemory(const Graph& graph, const SegmentScope& scope);

/// By position in PlannedSegment::side_inputs: the partition outputs of a stage of records; empty for an
/// artifact or a file.
using SideInputOutputs = std::vector<std::vector<PartitionOutput>>;
/// Called under the coordinator's lock once units run.
SideInputOutputs SideInputOutputsOf(const SegmentState& state);

/// Makes the stages of `state`, whose artifacts exist, and divides the memory for them. `streams` is as in
/// PreparedSegments. One thread at a time for one `state`; the caller notes that the stages are made.
Status MakeStages(const Graph& graph, const Plan& plan, int streams, SideInputOutputs outputs,
                  SegmentState& state);

/// Takes the leases of all locations that will be published (dag/location/lease.md), then writes their
/// markers: a location that cannot be written is reported before hours of work, not after.
/// kFailedPrecondition: another run writes there, or has published since the plan was made. Called once for
/// `prepared`. From then on its stores ask the returned keeper, which is destroyed before `prepared`;
/// nothing is written to the stores after that.
Result<std::unique_ptr<LeaseKeeper>> MarkLocations(PreparedSegments& prepared, const Environment& environment,
                                                   std::stop_token stop);

/// Writes a segment line for each segment that has none, for the lines of its units to refer to.
Status DescribeSegments(const PreparedSegments& prepared, RunLog& log);

}  // namespace pipeline
