// What happened when: units of each stage and curves of speed, processor, memory and disk above one axis.
#pragma once

#include <string>

#include "cli/run_record.h"

namespace pipeline {

/// How long the run took, as far as the record goes; never 0.
double DurationOf(const RunRecord& record);

/// The section's content; bounded whatever the number of units. With it goes, for the page's script, a
/// script element of JSON that holds numbers alone.
std::string TimeCharts(const RunRecord& record);

}  // namespace pipeline
