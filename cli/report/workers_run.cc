#include "cli/report/workers_run.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "cli/report/kept_run.h"
#include "cli/report/run_facts.h"
#include "cli/report/run_recorder.h"
#include "cli/report/write_report.h"
#include "cli/workspace/work_result.h"
#include "storage/local_store.h"
#include "storage/remote/open_store.h"

namespace pipeline {

namespace {

Status WriteRecord(const WorkDir& work, const std::string& id, const std::string& lines) {
  LocalStore store(work.run(id));
  return WriteObject(store, kRecordName, lines, Condition::ReplaceAny()).status();
}

/// Returns whether the record of the run `id` is here and has no end.
bool IsRecordOpen(const WorkDir& work, const std::string& id) {
  const Result<RunRecord> record = ReadRecord(work, id);
  return record.ok() && !record->end;
}

/// Returns by host how much its times are moved, in milliseconds.
std::map<std::string, std::int64_t> MovesOf(const std::vector<UnitTurn>& turns, std::int64_t started,
                                            std::int64_t seen) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> spans;  // by host: first begin, last end
  for (const UnitTurn& turn : turns) {
    if (turn.began == 0) continue;
    const std::int64_t end = turn.began + turn.took_ms;
    auto& [first, last] = spans.try_emplace(HostOf(turn.who), turn.began, end).first->second;
    first = std::min(first, turn.began);
    last = std::max(last, end);
  }
  std::map<std::string, std::int64_t> moves;
  for (const auto& [host, span] : spans) {
    std::int64_t move = std::max<std::int64_t>(started - span.first, 0);
    // This machine may have a clock of its own, too, by which the run has not begun.
    if (seen > started && span.second + move > seen)
      move = std::max(seen - span.second, started - span.first);
    moves.emplace(host, move);
  }
  return moves;
}

/// Returns the line of the run of `record`, without a process.
RunLine LineOf(const RunRecord& record) {
  RunLine line;
  line.id = record.begin.id;
  line.command = record.begin.command;
  line.started = record.begin.started;
  if (!record.end) return line;
  line.ended = line.started + static_cast<std::int64_t>(1000 * record.end->at);
  line.outcome = record.end->outcome;
  return line;
}

}  // namespace

Result<std::optional<WorkersRun>> ReadWorkersRun(Store& package, const PackageView* before,
                                                 const std::stop_token& stop) {
  const Result<PackageView> view = LookAt(package, before, SystemClock(), stop);
  if (!view.ok() && view.status().code() != Code::kNotFound) return view.status();
  if (!view.ok() || view->package->run.empty()) return std::optional<WorkersRun>();
  WorkersRun run;
  run.id = view->package->run;
  run.end = view->end;
  run.at_work = view->RunningLeases().size();
  run.seen = SystemClock().UnixMillis();
  std::vector<std::string> unreadable;
  ASSIGN_OR_RETURN(run.history, ReadHistory(package, view->history, unreadable, stop));
  for (const std::string& object : unreadable)
    LogWarning(StrCat(object, ": cannot be read; what it tells of the workers is missing"));
  std::vector<ObjectInfo> records;
  for (const auto& [unit, record] : view->done) records.push_back(record);
  ASSIGN_OR_RETURN(const WorkHistory finished, ReadFinished(package, records, stop));
  run.history.Add(finished);
  return std::optional(std::move(run));
}

Result<std::optional<WorkersRun>> FindWorkersRun(Store& work, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const std::optional<std::string> place, PackageOf(work));
  if (!place) return std::optional<WorkersRun>();
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> package, OpenStore(*place));
  return ReadWorkersRun(*package, nullptr, stop);
}

void BeginWorkersRun(Workspace& workspace, const RunLine& line, const LoadedPipeline& loaded,
                     const Plan& plan, const Snapshot& snapshot, const RunOptions& options) {
  const WorkDir& work = workspace.directory();
  const RunRecord record = DescribeRun(line, loaded, plan, snapshot, options, work.run(line.id));
  const Status written = WriteRecord(work, line.id, EncodeBegin(record));
  if (written.ok())
    SendRecord(workspace, line.id, kMostSending);
  else
    LogWarning(StrCat("the record of this run cannot be written (", written.message(),
                      "); the run goes on, without a report"));
}

std::optional<WorkersRun> WorkersRunOf(const Books& books) {
  const Result<std::unique_ptr<Store>> home = OpenStore(books.home);
  if (!home.ok()) return std::nullopt;
  Result<std::optional<WorkersRun>> run = FindWorkersRun(**home, {});
  if (run.ok()) return std::move(*run);
  LogWarning(StrCat("the work of the workers cannot be read (", run.status().message(), ")"));
  return std::nullopt;
}

std::vector<RunLine> RunsWith(const WorkersRun* workers, const Books& books) {
  std::vector<RunLine> runs = books.log->Runs();
  if (workers == nullptr || workers->id.empty()) return runs;
  if (std::any_of(runs.begin(), runs.end(), [&](const RunLine& run) { return run.id == workers->id; }))
    return runs;
  Result<RunRecord> record = ReadRecord(books.directory, workers->id);
  if (!record.ok()) return runs;
  if (!record->end) AddWorkers(*workers, *record);
  RunLine line = LineOf(*record);
  if (line.outcome == kWaiting) line.ended = 0;
  const auto later = std::find_if(runs.rbegin(), runs.rend(),
                                  [&](const RunLine& run) { return run.started <= line.started; });
  // Another run went on with its work. A lease that is still there says little: that of a dead worker stays.
  const bool goes_on = line.outcome.empty() || line.outcome == kWaiting;
  if (goes_on && later != runs.rbegin()) line.outcome = "cancelled";
  runs.insert(later.base(), std::move(line));
  return runs;
}

void AddWorkers(const WorkersRun& run, RunRecord& record) {
  WorkSummary summary = Summarise(run.history);
  const std::map<std::string, std::int64_t> moves = MovesOf(summary.turns, record.begin.started, run.seen);
  double last = 0;
  for (const UnitTurn& turn : summary.turns) {
    RecordedUnit unit;
    unit.unit = turn.unit;
    unit.host = HostOf(turn.who);
    const std::int64_t began = turn.began == 0 ? 0 : turn.began + moves.at(unit.host);
    // A clock that steps while its host works has times that no move makes right.
    const std::int64_t latest = run.seen > record.begin.started ? run.seen - turn.took_ms : began;
    unit.begin =
        static_cast<double>(std::max<std::int64_t>(std::min(began, latest) - record.begin.started, 0)) / 1000;
    unit.end = unit.begin + static_cast<double>(turn.took_ms) / 1000;
    unit.records = turn.records;
    last = std::max(last, unit.end);
    double& reached =
        record.reached.try_emplace(std::string(StageOfUnit(turn.unit)), unit.begin).first->second;
    reached = std::min(reached, unit.begin);
    record.units.push_back(std::move(unit));
  }
  std::stable_sort(record.units.begin(), record.units.end(),
                   [](const RecordedUnit& a, const RecordedUnit& b) { return a.end < b.end; });
  record.hosts = std::move(summary.hosts);
  if (!run.end && !run.replaced && run.at_work > 0) return;
  RecordedEnd end;
  end.at = last;
  if (!run.end) {
    end.outcome = run.replaced ? "cancelled" : kWaiting;
    record.end = std::move(end);
    return;
  }
  end.outcome = run.end->failures.empty() ? "done" : "failed";
  end.failures = run.end->failures;
  record.end = std::move(end);
  if (!run.end->failures.empty()) return;
  for (const RecordedStage& stage : record.stages)
    if (stage.state == "run" || stage.state == "copy")
      record.completed.emplace(stage.segment.empty() ? stage.name : stage.segment, last);
}

Result<std::string> EndWorkersRun(Workspace& workspace, const WorkersRun& run) {
  const WorkDir& work = workspace.directory();
  ASSIGN_OR_RETURN(const std::string lines, ReadWholeFile(StrCat(work.run(run.id), "/", kRecordName)));
  ASSIGN_OR_RETURN(RunRecord record, ParseRunRecord(lines));
  if (!record.end && (run.end || run.replaced)) {
    AddWorkers(run, record);
    ASSIGN_OR_RETURN(const std::unique_ptr<Store> home, workspace.environment().work_store(""));
    AddOutcome(workspace.log(), *home, record);
    RunLine line = LineOf(record);
    line.pid = static_cast<std::uint32_t>(getpid());
    RETURN_IF_ERROR(workspace.log().AppendRun(line));
    RETURN_IF_ERROR(WriteRecord(work, run.id, lines + EncodeOutcome(record)));
  }
  ASSIGN_OR_RETURN(std::string page, WriteReport(work, workspace.log(), run.id));
  SendRecord(workspace, run.id, kMostSending);
  return page;
}

void EndRunBefore(Workspace& workspace, Store& package, const RunBeforePlan& becomes,
                  const std::stop_token& stop) {
  Result<std::optional<WorkersRun>> found = ReadWorkersRun(package, nullptr, stop);
  if (!found.ok()) {
    LogWarning(StrCat("no report of the run before: ", found.status().message()));
    return;
  }
  if (!*found) return;
  WorkersRun& run = **found;
  if (!run.end && becomes.end) run.end = becomes.end;
  run.replaced = becomes.replaced && !run.end;
  if (!run.end && !run.replaced) return;
  if (workspace.environment().has_scratch) {
    // Another machine may have begun it.
    const Result<std::unique_ptr<Store>> home = workspace.environment().work_store("");
    if (home.ok()) (void)FetchRuns(**home, workspace.directory(), kMostRuns, stop);
  }
  if (!IsRecordOpen(workspace.directory(), run.id)) return;
  const Result<std::string> page = EndWorkersRun(workspace, run);
  if (page.ok())
    LogInfo(StrCat("report of the run before: ", *page));
  else
    LogWarning(StrCat("no report of the run before: ", page.status().message()));
}

}  // namespace pipeline
