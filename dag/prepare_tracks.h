// From a plan to tracks that can run: stages made, memory divided, places claimed. One thread, before
// any unit.
#pragma once

#include <memory>
#include <stop_token>
#include <vector>

#include "base/result.h"
#include "dag/environment.h"
#include "dag/place/lease_keeper.h"
#include "dag/plan.h"
#include "dag/track.h"
#include "spec/graph.h"

namespace pipeline {

struct PreparedTracks {
  std::vector<std::unique_ptr<Track>> tracks;  // parallel to the plan's segments
  int streams = 0;                             // stream units that may run at the same time
  int readers = 0;                             // units that begin with a Reader stage, the same
};

/// Writes nothing. kInvalidArgument where the limits cannot hold or a stage cannot be made. What takes the
/// artifact of a stage that is still to run stays without its stages. Everything outlives the tracks.
Result<PreparedTracks> PrepareTracks(const Graph& graph, const Plan& plan, const Environment& environment,
                                     const RunOptions& options);

/// By position in PlannedSegment::taken: the pieces of a stage of records; empty for an artifact or a file.
using TakenPieces = std::vector<std::vector<Piece>>;
/// Under the coordinator's lock once units run.
TakenPieces TakenPiecesOf(const Track& track);

/// Makes the stages of `track`, whose artifacts are there, and divides the memory for them. `streams` as in
/// PreparedTracks. One thread at a time for one track; the caller notes that they are made.
Status MakeStages(const Graph& graph, const Plan& plan, int streams, TakenPieces pieces, Track& track);

/// Claims the places that will be published: one that cannot be written is better known before hours of
/// work than after. Before that takes them for itself (dag/place/lease.md); kFailedPrecondition where
/// somebody else writes there, or has published since the plan was made. Once for `prepared`: from then on its
/// stores ask what is returned, which goes before `prepared` does, and nothing is written to them after it.
Result<std::unique_ptr<LeaseKeeper>> ClaimPlaces(PreparedTracks& prepared, const Environment& environment,
                                                 std::stop_token stop);

/// Lays down in the log how each segment's units are made, for their lines to refer to.
Status DescribeSegments(const PreparedTracks& prepared, RunLog& log);

}  // namespace pipeline
