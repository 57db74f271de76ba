// Makes the page about a run from the records of that run and of those before it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/report/run_record.h"
#include "dag/books/run_log.h"
#include "dag/books/work_dir.h"

namespace pipeline {

struct WorkersRun;

/// "clean: form: nfkc -> nfc": one line per difference that affects the output of `now`, in the order of
/// the stages. For records without stage configurations, only the stages are compared.
std::vector<std::string> DifferencesOf(const RunRecord& before, const RunRecord& now);

/// Writes report.html of the run `id` beside its record; returns the page's path. `workers`: what is known of
/// a run by workers whose record has no end yet; null: it is none, or it has one.
Result<std::string> WriteReport(const WorkDir& work, const RunLog& log, const std::string& id,
                                const WorkersRun* workers = nullptr);

}  // namespace pipeline
