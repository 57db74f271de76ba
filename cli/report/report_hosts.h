// The hosts of a run by workers: their work, and what was done twice or lost.
#pragma once

#include <string>

#include "cli/report/run_record.h"

namespace pipeline {

/// The HTML of the section; empty: no workers did the run. Its size is bounded for any number of hosts.
std::string HostSection(const RunRecord& record);

}  // namespace pipeline
