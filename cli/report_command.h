// `pipe report`, also at the end of a run: makes a page from the records of a run.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/options.h"
#include "cli/run_record.h"
#include "dag/run_log.h"
#include "dag/work_dir.h"

namespace pipeline {

/// Writes report.html of the run `id` beside its record; returns the page's path.
Result<std::string> WriteReport(const WorkDir& work, const RunLog& log, const std::string& id);

int ReportCommand(const Options& options);

}  // namespace pipeline
