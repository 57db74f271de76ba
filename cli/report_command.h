// `pipe report`, and the same at the end of a run: a page from what the run left.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/options.h"
#include "cli/run_record.h"
#include "dag/run_log.h"
#include "dag/work_dir.h"

namespace pipeline {

/// Writes report.html of the run `id` beside its record; gives the page's path.
Result<std::string> WriteReport(const WorkDir& work, const RunLog& log, const std::string& id);

int ReportCommand(const Options& options);

}  // namespace pipeline
