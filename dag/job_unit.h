// A Job's one unit, STAGE/-: from its inputs to its manifest.
#pragma once

#include <stop_token>
#include <vector>

#include "base/status.h"
#include "dag/track.h"
#include "records/piece.h"
#include "spec/graph.h"

namespace pipeline {

/// Runs the Job of `track` over `pieces`, all of its origin where it has one, and commits what it makes, or
/// takes over what an earlier run left at its place or elsewhere. Reads of the track what is immutable. For
/// a damaged piece DamagedPiece names it, whatever the Job made of that failure.
Status RunJobUnit(const Graph& graph, const Track& track, std::vector<Piece> pieces, std::stop_token stop);

}  // namespace pipeline
