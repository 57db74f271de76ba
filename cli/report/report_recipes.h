// Report sections about the inputs of a run: the configuration, versions, seed, recipe and sources of each
// stage; and the differences to the previous run.
#pragma once

#include <string>

#include "cli/report/run_record.h"

namespace pipeline {

/// The HTML of the section; empty for old records, which lack these members.
std::string RecipeSection(const RunRecord& record);

/// As RecipeSection, for RunRecord::before.
std::string BeforeSection(const RunRecord& record);

}  // namespace pipeline
