// What a stage that reads files says about those that it is given.
#pragma once

#include <string>

#include "dag/plan.h"
#include "spec/graph.h"

namespace pipeline {

/// Why `reader`, a Source, cannot read `files` of the stage `giver`, with the stage in front that has to
/// change: they are not there, or StageType::check_inputs refuses their names. OK where it can.
Status WhyNotRead(const std::string& giver, const StageSpec& reader, const Facts::Files& files);

}  // namespace pipeline
