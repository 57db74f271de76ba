// What became of each stage in a run, by its record.
#pragma once

#include <string>

#include "cli/run_record.h"

namespace pipeline {

/// "done", "copied", "failed", "stopped", "running", "killed" (the record has no end, and its run does not
/// live), "not reached", "up to date", "not selected".
///
/// Stages that are one segment share a pass: where it failed, a stage that the failure names failed, else the
/// last one, and the others were stopped.
std::string StateOf(const RunRecord& record, const RecordedStage& stage);

}  // namespace pipeline
