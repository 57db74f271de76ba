// The files that a plan reads: whether they are there, and what their readers say about their names.
#pragma once

#include <map>
#include <vector>

#include "base/status.h"
#include "dag/plan.h"
#include "dag/vanished_source.h"
#include "spec/graph.h"

namespace pipeline {

/// As StageType::check_inputs of the Source `stage` says it.
Status CheckInputNames(const StageSpec& stage, const std::vector<SourceFile>& files);

/// Adds to the refusals of `plan` what is wrong with files that its segments have to read: one that is gone
/// is a matter for nobody else. What may be there all the same is a report. Refuses also to publish beside
/// objects that would be written over or taken for a part of the artifact.
void CheckInputs(const Graph& graph, const Facts& facts, Plan& plan);

/// Refuses what would be published anew from a source that is gone: somebody has to say that it is the one
/// which earlier runs read. What has its manifest already, or lies unfinished at its place, goes on.
/// `vanished`: by node. After CheckInputs; looks at places that only planning can name.
Status CheckVanished(const Graph& graph, const Facts& facts, const std::map<int, VanishedSource>& vanished,
                     Plan& plan);

}  // namespace pipeline
