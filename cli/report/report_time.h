// The timeline of a run: the units of each stage, and curves of speed, processors, memory and disk over one
// axis.
#pragma once

#include <string>

#include "cli/report/run_record.h"

namespace pipeline {

/// The duration of the run as far as recorded; never 0.
double DurationOf(const RunRecord& record);

/// The content of the section; its size is bounded for any number of units. Includes a JSON script element,
/// with numbers only, for the page's script.
std::string TimeCharts(const RunRecord& record);

}  // namespace pipeline
