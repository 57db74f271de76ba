// Makes the page about a run from the records of that run.
#pragma once

#include <string>

#include "base/result.h"
#include "dag/books/run_log.h"
#include "dag/books/work_dir.h"

namespace pipeline {

/// Writes report.html of the run `id` beside its record; returns the page's path.
Result<std::string> WriteReport(const WorkDir& work, const RunLog& log, const std::string& id);

}  // namespace pipeline
