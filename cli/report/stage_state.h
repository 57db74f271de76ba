// The outcome of each stage in a run, from its record.
#pragma once

#include <string>

#include "cli/report/run_record.h"

namespace pipeline {

/// "done", "copied", "failed", "stopped", "running", "killed" (the record has no end, and the run is not
/// alive), "not reached", "up to date", "not selected".
///
/// Stages of one segment share a pass. If it failed, the stage named in the failure failed, or else the
/// last one; the others were stopped.
std::string StateOf(const RunRecord& record, const RecordedStage& stage);

}  // namespace pipeline
