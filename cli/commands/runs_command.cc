#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/attendance.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/commands/commands.h"
#include "cli/report/html.h"
#include "cli/report/run_recorder.h"
#include "cli/report/workers_run.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/output.h"
#include "cli/workspace/books.h"
#include "cli/workspace/pipeline_loader.h"
#include "dag/books/lock.h"
#include "dag/books/log_file.h"
#include "dag/books/run_log.h"
#include "dag/books/work_dir.h"

namespace pipeline {

namespace {

/// A run, with the numbers of its record.
struct ListedRun {
  RunLine line;
  std::string outcome;  // "done", "failed", "cancelled", "running", "killed"; by workers also "waiting"
  double duration = 0;  // seconds; 0: unknown
  double cpu = 0;       // seconds of the processors, child processes included
  std::uint64_t peak_rss = 0, written = 0;
  std::string page;  // path; empty: there is none
};

ListedRun Look(const WorkDir& work, const RunLine& line, std::string without_end) {
  ListedRun run;
  run.line = line;
  run.outcome = line.outcome.empty() ? std::move(without_end) : line.outcome;
  if (line.ended > 0) run.duration = static_cast<double>(line.ended - line.started) / 1000;
  const Result<std::string> lines = ReadWholeFile(StrCat(work.run(line.id), "/", kRecordName));
  if (lines.ok()) {
    if (const Result<RunRecord> record = ParseRunRecord(*lines); record.ok()) {
      for (const RecordedMoment& moment : record->moments) run.peak_rss = std::max(run.peak_rss, moment.rss);
      if (record->end) run.peak_rss = std::max(run.peak_rss, record->end->peak_rss);
      if (!record->moments.empty()) {
        const RecordedMoment& last = record->moments.back();
        run.cpu = last.cpu;
        run.written = last.written;
        if (run.duration == 0) run.duration = last.at;
      }
    }
  }
  const std::string page = StrCat(work.run(line.id), "/report.html");
  std::error_code none;
  if (std::filesystem::exists(page, none)) run.page = page;
  return run;
}

Json ToJson(const ListedRun& run) {
  Json json;
  json["id"] = run.line.id;
  json["started"] = run.line.started;
  json["command"] = run.line.command;
  json["outcome"] = run.outcome;
  json["seconds"] = run.duration;
  json["cpu"] = run.cpu;
  json["peak_rss"] = run.peak_rss;
  json["written"] = run.written;
  if (!run.page.empty()) json["report"] = run.page;
  return json;
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
  const WorkDir& work = books->directory;
  const std::optional<WorkersRun> workers = WorkersRunOf(*books);
  const std::vector<RunLine> runs = RunsWith(workers ? &*workers : nullptr, *books);
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
    const RunLine& line = runs[runs.size() - 1 - at];
    const bool last = at == 0;
    const bool by_workers = workers && workers->id == line.id;
    const bool runs_now = by_workers || (last && WorkLock::IsHeld(work.path()));
    const ListedRun run = Look(work, line, runs_now ? "running" : "killed");
    if (options.json)
      all.Append(ToJson(run));
    else
      out.Write(ToText(run));
  }
  if (options.json) out.Write(all.DumpPretty());
  const Status written = out.Finish();
  if (written.ok()) return runs.empty() ? kExitRefused : kExitDone;
  LogError(written.message());
  return kExitFailed;
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
