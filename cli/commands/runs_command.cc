#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/attendance.h"
#include "base/clock.h"
#include "base/json_fields.h"
#include "base/str.h"
#include "cli/commands/commands.h"
#include "cli/report/html.h"
#include "cli/report/run_status.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/standard_output.h"
#include "cli/workspace/books.h"
#include "cli/workspace/pipeline_loader.h"
#include "dag/books/run_log.h"
#include "dag/books/work_dir.h"

namespace pipeline {

namespace {

/// A run, with the numbers of its record.
struct ListedRun {
  RunLine line;
  std::string outcome;  // RunStatus::Outcome
  double duration = 0;  // seconds; 0: unknown
  double cpu = 0;       // seconds of the processors, child processes included
  std::uint64_t peak_rss = 0, written = 0;
  std::string page;  // path; empty: there is none
};

ListedRun ListedOf(const WorkDir& work, const RunStatus& status) {
  ListedRun run;
  run.line = status.line;
  run.outcome = status.Outcome();
  if (run.line.ended > 0) run.duration = static_cast<double>(run.line.ended - run.line.started) / 1000;
  if (const std::shared_ptr<const RunRecord>& record = status.record) {
    for (const RecordedMoment& moment : record->moments) run.peak_rss = std::max(run.peak_rss, moment.rss);
    if (record->end) run.peak_rss = std::max(run.peak_rss, record->end->peak_rss);
    if (!record->moments.empty()) {
      const RecordedMoment& last = record->moments.back();
      run.cpu = last.cpu;
      run.written = last.written;
      if (run.duration == 0) run.duration = last.at;
    }
  }
  const std::string page = StrCat(work.run(run.line.id), "/report.html");
  std::error_code none;
  if (std::filesystem::exists(page, none)) run.page = page;
  return run;
}

Json ToJson(const ListedRun& run) {
  JsonWriter json;
  json.Written("id", run.line.id).Written("started", run.line.started).Written("command", run.line.command);
  json.Written("outcome", run.outcome).Written("seconds", run.duration).Written("cpu", run.cpu);
  json.Written("peak_rss", run.peak_rss).Written("written", run.written).Loose("report", run.page);
  return json.Finish();
}

std::string Padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

std::string ToText(const ListedRun& run) {
  return StrCat(Padded(run.line.id, 22), Iso8601(run.line.started), "  ", Padded(run.outcome, 11),
                Padded(run.duration > 0 ? Span(run.duration) : "-", 11),
                Padded(run.cpu > 0 ? Span(run.cpu) : "-", 11),
                Padded(run.peak_rss > 0 ? HumanBytes(run.peak_rss) : "-", 11),
                Padded(run.written > 0 ? HumanBytes(run.written) : "-", 11), run.line.command, "\n");
}

struct RunsOptions {
  PipelineOptions pipeline;
  std::uint64_t limit = UINT64_MAX;
  bool json = false;
};

int ListRuns(const RunsOptions& options) {
  const Attendance attendance({});
  const std::unique_ptr<LoadedPipeline> loaded = LoadPipeline(options.pipeline, LoadPurpose::kRead);
  if (!loaded) return kExitRefused;
  const std::optional<Books> books = OpenBooks(WorkPlaceOf(options.pipeline, loaded->spec));
  if (!books) return kExitRefused;
  const RunsStatus status(*books);
  const std::vector<RunLine>& runs = status.lines();
  const std::size_t most = static_cast<std::size_t>(std::min<std::uint64_t>(options.limit, runs.size()));
  Output out(STDOUT_FILENO);
  Json all = Json::Array{};
  if (!options.json && runs.empty())
    out.Write(
        StrCat("nothing ran yet in ", books->home, "; `pipe run ", options.pipeline.file, "` begins\n"));
  if (!options.json && !runs.empty())
    out.Write(StrCat(Padded("RUN", 22), Padded("BEGAN", 22), Padded("OUTCOME", 11), Padded("TIME", 11),
                     Padded("CPU", 11), Padded("MEMORY", 11), Padded("WRITTEN", 11), "COMMAND\n"));
  // The newest run comes first, because people look for it most.
  for (std::size_t at = 0; at < most; ++at) {
    const ListedRun run = ListedOf(books->directory, status.Look(runs[runs.size() - 1 - at]));
    if (options.json)
      all.Append(ToJson(run));
    else
      out.Write(ToText(run));
  }
  if (options.json) out.Write(all.DumpPretty());
  return FinishOutput(out, runs.empty() ? kExitRefused : kExitDone);
}

}  // namespace

Command RunsCommand() {
  const auto options = std::make_shared<RunsOptions>();
  return {
      .name = "runs",
      .help = "List the runs, the newest first: outcome, time, processors, memory, and how each was called",
      .words = Joined(
          PipelineWords(options->pipeline),
          {{.flags = {"-l", "--limit"}, .value = "N", .help = "List at most N runs", .to = &options->limit},
           {.flags = {"--json"}, .help = "As JSON, with the path of each report", .to = &options->json}}),
      .run = [options](const Call&) { return ListRuns(*options); },
  };
}

}  // namespace pipeline
