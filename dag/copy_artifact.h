// The same bytes wanted at another place: copied, not made again.
#pragma once

#include <stop_token>

#include "base/result.h"
#include "dag/segment_unit.h"

namespace pipeline {

/// Makes the artifact at `from` stand at `out`, the place of the segment: shards, then what describes
/// them, the manifest, and what follows it. What is there already with the right size stays.
Status CopyArtifact(const SegmentScope& scope, Store& from, Store& out, std::stop_token stop);

}  // namespace pipeline
