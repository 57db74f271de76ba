#include "cli/report/workers_run.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/report/kept_run.h"
#include "cli/report/run_facts.h"
#include "cli/report/run_recorder.h"
#include "cli/report/write_report.h"
#include "cli/workspace/work_result.h"
#include "dag/books/log_file.h"
#include "storage/local_store.h"
#include "storage/remote/open_store.h"

namespace pipeline {

namespace {

constexpr std::chrono::seconds kMostSending{60};

Status WriteRecord(const WorkDir& work, const std::string& id, const std::string& lines) {
  LocalStore store(work.run(id));
  return WriteObject(store, kRecordName, lines, Condition::ReplaceAny()).status();
}

/// Returns the events that end a record.
std::string Closing(const RunRecord& record) {
  std::string lines;
  for (const RecordedUnit& unit : record.units) lines += EncodeEvent(unit);
  for (const auto& [stage, at] : record.reached) lines += EncodeReached(stage, at);
  for (const auto& [stage, at] : record.completed) lines += EncodeComplete(stage, at);
  for (const HostWork& host : record.hosts) lines += EncodeEvent(host);
  for (const auto& [stage, counts] : record.counts) lines += EncodeEvent(stage, counts);
  for (const RecordedExample& example : record.examples) lines += EncodeEvent(example);
  return lines + EncodeEvent(*record.end);
}

}  // namespace

Result<std::optional<WorkersRun>> ReadWorkersRun(Store& package, const std::stop_token& stop) {
  const Result<PackageView> view = LookAt(package, nullptr, SystemClock(), stop);
  if (!view.ok() && view.status().code() != Code::kNotFound) return view.status();
  if (!view.ok() || view->package->run.empty()) return std::optional<WorkersRun>();
  WorkersRun run;
  run.id = view->package->run;
  run.end = view->end;
  std::vector<std::string> unreadable;
  ASSIGN_OR_RETURN(run.history, ReadHistory(package, view->history, unreadable, stop));
  for (const std::string& object : unreadable)
    LogWarning(StrCat(object, ": cannot be read; what it tells of the workers is missing"));
  ASSIGN_OR_RETURN(const WorkHistory finished,
                   ReadFinished(package, {view->done.begin(), view->done.end()}, stop));
  run.history.Add(finished);
  return std::optional(std::move(run));
}

Result<std::optional<WorkersRun>> FindWorkersRun(Store& work, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const std::optional<std::string> place, PackageOf(work));
  if (!place) return std::optional<WorkersRun>();
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> package, OpenStore(*place));
  return ReadWorkersRun(*package, stop);
}

void BeginWorkersRun(Workspace& workspace, const RunLine& line, const LoadedPipeline& loaded,
                     const Plan& plan, const Snapshot& snapshot, const RunOptions& options) {
  const WorkDir& work = workspace.directory();
  const RunBeginning made = DescribeRun(line, loaded, plan, snapshot, options, work.run(line.id));
  std::string lines = EncodeEvent(made.begin);
  for (const RecordedStage& stage : made.stages) lines += EncodeEvent(stage);
  for (const auto& [stage, counts] : made.existing) lines += EncodeEvent(stage, counts);
  const Status written = WriteRecord(work, line.id, lines);
  if (written.ok())
    SendRecord(workspace, line.id, kMostSending);
  else
    LogWarning(StrCat("the record of this run cannot be written (", written.message(),
                      "); the run goes on, without a report"));
}

bool IsRecordOpen(const WorkDir& work, const std::string& id) {
  const Result<std::string> lines = ReadWholeFile(StrCat(work.run(id), "/", kRecordName));
  if (!lines.ok()) return false;
  const Result<RunRecord> record = ParseRunRecord(*lines);
  return record.ok() && !record->end;
}

void AddWorkers(const WorkersRun& run, RunRecord& record) {
  WorkSummary summary = Summarise(run.history);
  double last = 0;
  for (const UnitTurn& turn : summary.turns) {
    RecordedUnit unit;
    unit.unit = turn.unit;
    unit.host = HostOf(turn.who);
    unit.begin = static_cast<double>(std::max<std::int64_t>(turn.began - record.begin.started, 0)) / 1000;
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
  if (!run.end) return;
  RecordedEnd end;
  end.at = last;
  end.outcome = run.end->failures.empty() ? "done" : "failed";
  for (const RunEnd::Failure& failure : run.end->failures)
    end.failures.emplace_back(failure.unit, failure.why);
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
  if (!record.end && run.end) {
    const std::map<std::string, RecordedCounts> existing = std::exchange(record.counts, {});
    AddWorkers(run, record);
    ASSIGN_OR_RETURN(const std::unique_ptr<Store> home, workspace.environment().work_store(""));
    AddOutcome(workspace.log(), *home, record);
    AddExisting(existing, record);
    RunLine line;
    line.id = run.id;
    line.pid = static_cast<std::uint32_t>(getpid());
    line.command = record.begin.command;
    line.started = record.begin.started;
    line.ended = line.started + static_cast<std::int64_t>(1000 * record.end->at);
    line.outcome = record.end->outcome;
    RETURN_IF_ERROR(workspace.log().AppendRun(line));
    RETURN_IF_ERROR(WriteRecord(work, run.id, lines + Closing(record)));
  }
  ASSIGN_OR_RETURN(std::string page, WriteReport(work, workspace.log(), run.id));
  SendRecord(workspace, run.id, kMostSending);
  return page;
}

}  // namespace pipeline
