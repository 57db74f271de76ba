// From a plan to tracks that can run: stages made, memory divided, places claimed. One thread, before
// any unit.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "dag/environment.h"
#include "dag/graph.h"
#include "dag/plan.h"
#include "dag/track.h"

namespace pipeline {

struct PreparedTracks {
  std::vector<std::unique_ptr<Track>> tracks;  // parallel to the plan's segments
  int streams = 0;                             // stream units that may run at the same time
};

/// Writes nothing. kInvalidArgument where the limits cannot hold or a stage cannot be made.
/// Everything outlives the tracks.
Result<PreparedTracks> PrepareTracks(const Graph& graph, const Plan& plan, const Environment& environment,
                                     const RunOptions& options);

/// Claims the places that will be published: one that cannot be written is better known before hours of
/// work than after.
Status ClaimPlaces(const PreparedTracks& prepared);

/// Lays down in the log how each segment's units are made, for their lines to refer to.
Status DescribeSegments(const PreparedTracks& prepared, RunLog& log);

}  // namespace pipeline
