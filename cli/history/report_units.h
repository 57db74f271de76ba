// The units of a run as a table: how long each took, and what of the processors and of memory.
#pragma once

#include <string>

#include "cli/run_record.h"

namespace pipeline {

/// A section's HTML; empty where no unit ended. Bounded for any number of units.
std::string UnitSection(const RunRecord& record);

}  // namespace pipeline
