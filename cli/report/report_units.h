// The tables of a run's units and hosts.
#pragma once

#include <string>

#include "cli/report/run_record.h"

namespace pipeline {

/// Duration, processor time and memory of each unit. The HTML of the section; empty: no unit ended. Its size
/// is bounded for any number of units.
std::string UnitSection(const RunRecord& record);

/// The hosts of a run by workers: their work, and what was done twice or lost. The HTML of the section;
/// empty: no workers did the run. Its size is bounded for any number of hosts.
std::string HostSection(const RunRecord& record);

}  // namespace pipeline
