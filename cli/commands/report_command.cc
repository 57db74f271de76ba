#include "cli/commands/report_command.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/str.h"
#include "cli/report/run_recorder.h"
#include "cli/report/workers_run.h"
#include "cli/report/write_report.h"
#include "cli/terminal/exit_code.h"
#include "cli/workspace/books.h"
#include "cli/workspace/pipeline_loader.h"
#include "dag/books/log_file.h"
#include "storage/local_store.h"
#include "storage/remote/open_store.h"

namespace pipeline {

namespace {

bool HasRecord(const WorkDir& work, const std::string& id) {
  LocalStore store(work.run(id));
  const Result<std::optional<ObjectInfo>> record = store.Stat(kRecordName);
  return record.ok() && *record;
}

/// Returns the last run of the log that left a record. Empty: none did.
std::string LastRecorded(const WorkDir& work, const RunLog& log) {
  const std::vector<RunLine> runs = log.Runs();
  for (auto run = runs.rbegin(); run != runs.rend(); ++run)
    if (HasRecord(work, run->id)) return run->id;
  return {};
}

/// Returns the run by workers, which is in the log only when a `pipe submit` has seen its end. Absent: there
/// is none, or it cannot be read, which is reported.
std::optional<WorkersRun> WorkersOf(const Books& books) {
  const Result<std::unique_ptr<Store>> home = OpenStore(books.home);
  if (!home.ok()) return std::nullopt;
  Result<std::optional<WorkersRun>> run = FindWorkersRun(**home, {});
  if (run.ok()) return std::move(*run);
  LogWarning(StrCat("the work of the workers cannot be read (", run.status().message(), ")"));
  return std::nullopt;
}

int Report(const PipelineOptions& options) {
  const std::unique_ptr<LoadedPipeline> loaded = LoadPipeline(options, LoadPurpose::kRead);
  if (!loaded) return kExitRefused;
  const std::optional<Books> books = OpenBooks(WorkPlaceOf(options, loaded->spec));
  if (!books) return kExitRefused;
  const WorkDir& work = books->directory;
  std::string id = LastRecorded(work, *books->log);
  const std::optional<WorkersRun> workers = WorkersOf(*books);
  // Names of runs begin with the time of their start.
  if (workers && workers->id > id && HasRecord(work, workers->id)) id = workers->id;
  if (id.empty()) {
    LogError(StrCat(books->home, ": no run left a record here; `pipe run ", options.file, "` begins one"));
    return kExitRefused;
  }
  const Result<std::string> page =
      WriteReport(work, *books->log, id, workers && workers->id == id ? &*workers : nullptr);
  if (!page.ok()) {
    LogError(page.status().message());
    return kExitFailed;
  }
  std::printf("%s\n", page->c_str());
  return kExitDone;
}

}  // namespace

Command ReportCommand() {
  const auto options = std::make_shared<PipelineOptions>();
  return {
      .name = "report",
      .help = "Write the page about the last run again, from the files of the run, and print its path",
      .words = PipelineWords(*options),
      .run = [options](const Call&) { return Report(*options); },
  };
}

}  // namespace pipeline
