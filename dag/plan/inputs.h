// Checks the files that a plan reads: that they exist, and that their readers accept their names.
#pragma once

#include <map>
#include <vector>

#include "base/status.h"
#include "dag/pipeline_file/graph.h"
#include "dag/plan/plan.h"
#include "dag/plan/snapshot.h"
#include "dag/plan/stored_outputs.h"
#include "dag/plan/vanished_source.h"

namespace pipeline {

/// Calls SourceKind::check_inputs of the Source `stage`.
Status CheckInputNames(const StageSpec& stage, const std::vector<SourceFile>& files);

/// Refuses (in `plan`) missing and wrong files that its segments have to read; a missing file that no
/// segment reads does not matter. A file that may exist all the same is only reported. Also refuses to
/// publish beside objects that would be overwritten or taken for a part of the artifact.
void CheckInputs(const Graph& graph, const Snapshot& snapshot, Plan& plan);

/// Refuses new publications from a source that is gone: a person has to confirm that it is the one that
/// earlier runs read. An artifact with a manifest, or unfinished at its location, goes on. `vanished` is by
/// node. Call it after CheckInputs; it looks at locations that only planning can name.
Status CheckVanished(const Graph& graph, const Snapshot& snapshot, const StoredOutputs& stored,
                     const std::map<NodeId, VanishedSource>& vanished, Plan& plan);

}  // namespace pipeline
