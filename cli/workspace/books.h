// The log and the records of the runs of a pipeline, for commands that only read them; of a home in a bucket,
// its records come to the scratch, and those of a run go from there to the home.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "cli/workspace/work_place.h"
#include "dag/books/run_log.h"
#include "dag/books/work_dir.h"
#include "storage/store.h"

namespace pipeline {

struct Books {
  std::string home;   // as WorkPlace::home
  WorkDir directory;  // has runs/
  std::unique_ptr<RunLog> log;
};

/// Absent after printing an error: the log cannot be read. Records of a home that cannot be read are missing,
/// with a warning.
std::optional<Books> OpenBooks(const WorkPlace& place);

/// The log alone: no record comes from a home.
Result<std::unique_ptr<RunLog>> ReadRunLog(const WorkPlace& place);

/// The number of runs whose records and reports a command brings from a home.
inline constexpr std::size_t kMostRuns = 1'000;

/// Brings the records and reports of the last `most` runs from the home to the scratch, those that are not
/// there yet, and those that have grown since.
Status FetchRuns(Store& home, const WorkDir& scratch, std::size_t most, const std::stop_token& stop = {});

/// Sends the records and the report of the run `id` from the scratch to the home, over those of before.
Status SendRun(const WorkDir& scratch, const std::string& id, Store& home, const std::stop_token& stop);

}  // namespace pipeline
