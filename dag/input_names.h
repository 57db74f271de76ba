// What a stage that reads files says about their names.
#pragma once

#include <vector>

#include "dag/plan.h"
#include "spec/graph.h"

namespace pipeline {

/// As StageType::check_inputs of the Source `stage` says it.
Status CheckInputNames(const StageSpec& stage, const std::vector<SourceFile>& files);

}  // namespace pipeline
