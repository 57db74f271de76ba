// The files that a plan reads: whether they are there, and what their readers say about their names.
#pragma once

#include <vector>

#include "dag/plan.h"
#include "spec/graph.h"

namespace pipeline {

/// As StageType::check_inputs of the Source `stage` says it.
Status CheckInputNames(const StageSpec& stage, const std::vector<SourceFile>& files);

/// Adds to the refusals of `plan` what is wrong with files that its segments have to read: one that is gone
/// is a matter for nobody else. What may be there all the same is a report.
void CheckInputs(const Graph& graph, const Facts& facts, Plan& plan);

}  // namespace pipeline
