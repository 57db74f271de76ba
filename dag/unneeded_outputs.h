// Partition outputs that nothing unfinished needs: which they are, and their removal.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "dag/environment.h"
#include "dag/lineages.h"
#include "dag/pipeline_file/graph.h"
#include "dag/plan.h"

namespace pipeline {

/// Sets `removable` of each segment, and Plan::unneeded. `refused`: stages that stay as they are although
/// their artifact has another recipe; they count as unfinished.
void FindUnneeded(const Graph& graph, const Lineages& lineages, const std::set<NodeId>& refused, Plan& plan);

/// Returns the bytes of the partition outputs in `directories`, which are below artifacts/.
Result<std::uint64_t> OutputBytes(const Environment& environment,
                                  const std::vector<std::string>& directories);

/// Removes the manifest in `directory`, then the partition outputs, and returns their bytes. Files of other
/// names stay.
Result<std::uint64_t> RemoveOutputs(const Environment& environment, const std::string& directory);

/// Removes everything in `directories`, with one note about all of it. What cannot be removed stays, and is
/// named in a warning: it is in nobody's way, and the next run tries again.
void RemoveUnneeded(const Environment& environment, const std::vector<std::string>& directories);

}  // namespace pipeline
