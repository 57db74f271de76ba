// Partition outputs that nothing unfinished needs: which they are, and their removal.
#pragma once

#include <cstdint>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "dag/environment.h"
#include "dag/pipeline_file/graph.h"
#include "dag/plan/lineages.h"
#include "dag/plan/plan.h"

namespace pipeline {

/// Sets `removable` of each segment, and Plan::unneeded. `refused`: stages that stay as they are although
/// their artifact has another recipe; they count as unfinished.
void FindUnneeded(const Graph& graph, const Lineages& lineages, const std::set<NodeId>& refused, Plan& plan);

/// Returns the bytes of the partition outputs in `directories`, which are below artifacts/.
Result<std::uint64_t> OutputBytes(const Environment& environment,
                                  const std::vector<std::string>& directories);

/// Removes the manifest in `directory`, then the partition outputs, and returns their bytes. Files of other
/// names stay, and so do outputs that are left when `stop` is set.
Result<std::uint64_t> RemoveOutputs(const Environment& environment, const std::string& directory,
                                    const std::stop_token& stop);

/// Removes everything in `directories`, with one note about all of it. If outputs cannot be removed: they
/// stay, a warning says so, and the next run tries again.
void RemoveUnneeded(const Environment& environment, const std::vector<std::string>& directories,
                    const std::stop_token& stop);

}  // namespace pipeline
