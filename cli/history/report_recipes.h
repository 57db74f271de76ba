// What a run was made of, for the page about it: the configuration, versions, seed, recipe and sources of
// each stage; and the run before with what differs.
#pragma once

#include <string>

#include "cli/run_record.h"

namespace pipeline {

/// A section's HTML; empty for old records, which say nothing of it.
std::string RecipeSection(const RunRecord& record);

/// The same of RunRecord::before.
std::string BeforeSection(const RunRecord& record);

}  // namespace pipeline
