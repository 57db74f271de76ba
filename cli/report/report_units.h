// The table of a run's units: duration, processor time and memory of each.
#pragma once

#include <string>

#include "cli/report/run_record.h"

namespace pipeline {

/// The HTML of the section; empty: no unit ended. Its size is bounded for any number of units.
std::string UnitSection(const RunRecord& record);

}  // namespace pipeline
