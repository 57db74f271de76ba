// Makes the page about a run from the records of that run.
#pragma once

#include <string>

#include "base/result.h"
#include "dag/books/run_log.h"
#include "dag/books/work_dir.h"

namespace pipeline {

struct WorkersRun;

/// Writes report.html of the run `id` beside its record; returns the page's path. `workers`: what is known of
/// a run by workers whose record has no end yet; null: it is none, or it has one.
Result<std::string> WriteReport(const WorkDir& work, const RunLog& log, const std::string& id,
                                const WorkersRun* workers = nullptr);

}  // namespace pipeline
