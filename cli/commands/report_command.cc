#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/attendance.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/commands/commands.h"
#include "cli/report/run_recorder.h"
#include "cli/report/run_status.h"
#include "cli/report/write_report.h"
#include "cli/terminal/exit_code.h"
#include "cli/workspace/books.h"
#include "cli/workspace/last_settings.h"
#include "cli/workspace/pipeline_loader.h"
#include "storage/local_store.h"

namespace pipeline {

namespace {

bool HasRecord(const WorkDir& work, const std::string& id) {
  LocalStore store(work.run(id));
  const Result<std::optional<ObjectInfo>> record = store.Stat(kRecordName);
  return record.ok() && *record;
}

/// Returns the last of the runs that left a record. Empty: none did.
std::string LastRecorded(const WorkDir& work, const std::vector<RunLine>& runs) {
  for (auto run = runs.rbegin(); run != runs.rend(); ++run)
    if (HasRecord(work, run->id)) return run->id;
  return {};
}

int Report(const PipelineOptions& options) {
  const Attendance attendance({});
  const std::unique_ptr<LoadedPipeline> loaded = LoadPipeline(options, LoadPurpose::kRead);
  if (!loaded) return kExitRefused;
  const std::optional<Books> books = OpenBooks(WorkPlaceOf(options, loaded->spec));
  if (!books) return kExitRefused;
  const WorkDir& work = books->directory;
  const RunsStatus runs(*books);
  const std::string id = LastRecorded(work, runs.lines());
  if (id.empty())
    return Refuse(
        StrCat(books->home, ": no run left a record here; `pipe run ", options.file, "` begins one"));
  const Result<std::string> page = WriteReport(work, *books->log, id, runs.WorkersOf(id));
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
      .run =
          [options](const Call& call) {
            const Status taken = WithLastSettings(call, *options, false).status();
            return taken.ok() ? Report(*options) : Refuse(taken);
          },
  };
}

}  // namespace pipeline
