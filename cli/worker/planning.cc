#include "cli/worker/planning.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "base/attendance.h"
#include "base/log.h"
#include "base/random_name.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "cli/report/kept_run.h"
#include "cli/report/workers_run.h"
#include "cli/terminal/command_line.h"
#include "cli/workspace/work_result.h"
#include "cli/workspace/workspace.h"
#include "dag/books/log_file.h"
#include "dag/books/unit_id.h"
#include "dag/package/package_view.h"
#include "dag/package/unit_lease.h"
#include "dag/package/work_history.h"
#include "dag/plan/planner.h"
#include "storage/remote/open_store.h"
#include "storage/store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

constexpr std::string_view kLogPrefix = "log/";
constexpr int kKeepGoing = 1'000'000;  // what can run is offered, whatever else has failed

/// Copies the log beside the plan, under its digest; returns the object.
Result<std::string> CopyLog(Store& store, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
  const std::string object = StrCat(kLogPrefix, DigestOf(text).ToHex());
  RETURN_IF_ERROR(WriteObject(store, object, text, Condition::ReplaceAny()).status());
  return object;
}

/// Workers of the previous plan may still read its log; workers of older plans have ended or are too late.
Status RemoveOldLogs(Store& store, const std::set<std::string>& kept) {
  ASSIGN_OR_RETURN(std::vector<ObjectInfo> logs, store.List(kLogPrefix));
  std::erase_if(logs, [&kept](const ObjectInfo& log) { return kept.contains(log.name); });
  return RemoveObjects(store, logs);
}

/// Returns whether the work package has addresses with secrets, which open files that are not public.
bool HoldsSecrets(const WorkPackage& work_package) {
  const auto is_secret = [](const std::string& text) { return WithoutSecret(text) != text; };
  return std::any_of(work_package.files.begin(), work_package.files.end(),
                     [&](const WorkPackage::File& file) { return is_secret(file.path); }) ||
         std::any_of(work_package.set.begin(), work_package.set.end(),
                     [&](const auto& assignment) { return is_secret(assignment.second); });
}

/// `before`: the plan that is replaced.
Status Write(Store& store, WorkPackage work_package, const Result<WorkPackage>& before,
             const TakenResults& taken, const std::string& log_path) {
  std::set<std::string> logs;
  if (before.ok()) {
    logs.insert(before->log);
    work_package.pace = before->pace;
  }
  UpdatePace(taken, work_package);
  ASSIGN_OR_RETURN(work_package.log, CopyLog(store, log_path));
  logs.insert(work_package.log);
  RETURN_IF_ERROR(
      WriteObject(store, kWorkPackageName, EncodeWorkPackage(work_package), Condition::ReplaceAny())
          .status());
  // The results are in the log of this plan.
  RETURN_IF_ERROR(RemoveResults(store, taken));
  return RemoveOldLogs(store, logs);
}

/// Returns whether the plan begins another run than `before`: there are units, and a person asks for them
/// after the end of that run, or by another file.
Result<bool> BeginsRun(Store& store, const Result<WorkPackage>& before, const PlanningRequest& request,
                       bool offers) {
  if (!offers) return false;
  if (!before.ok() || before->run.empty()) return true;
  if (request.present != nullptr) return false;
  if (!IsOfState(*before, request.text, request.pipeline.set, request.pipeline.subset,
                 request.selection.until))
    return true;
  if (before->units.empty()) return true;  // everything was done
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> end, store.Stat(kRunEndName));
  return end.has_value();
}

/// Units that were given up are tried again, workers may plan again, and the run has not ended.
Status Reopen(Store& store, const std::string& run) {
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> failed, store.List(kFailedPrefix));
  RETURN_IF_ERROR(RemoveObjects(store, failed));
  RETURN_IF_ERROR(store.Remove(ObjectOfLease(kPlanningLease)));
  RETURN_IF_ERROR(RemoveOtherHistory(store, run));
  return store.Remove(kRunEndName);
}

/// `nonce`: of the plan, which found everything done. A worker that starts later need not plan to learn that.
Status WriteEnd(Store& store, const std::string& nonce) {
  return WriteObject(store, kRunEndName, EncodeVersioned(RunEnd{{}, nonce}), Condition::ReplaceAny())
      .status();
}

/// OK: this machine makes the bytes that the one that planned `present` makes.
Status CheckFits(const WorkPackage& present, const MachineFacts& facts,
                 const std::vector<WorkPackage::File>& hashed) {
  RETURN_IF_ERROR(CheckMachine(present, facts, hashed));
  // All machines see the same servers, but this one may have a disk of its own.
  const std::string changed = ChangedFile(present, hashed);
  return changed.empty() || IsRemote(changed) ? Status() : Status(Code::kNotFound, ChangedSince(changed));
}

/// Returns a package without units.
WorkPackage NewPackage(const PlanningRequest& request, const LoadedPipeline& loaded,
                       const Workspace& workspace) {
  WorkPackage package;
  package.pipeline = request.text;
  package.file = request.pipeline.file;
  package.set = request.pipeline.set;
  package.subset = request.pipeline.subset;
  package.until = request.selection.until;
  package.rules = RulesIn(loaded.spec);
  package.directory = request.directory;
  package.holder = workspace.environment().lease.holder;
  package.files = workspace.hashed();
  package.from_log = request.selection.from_log;
  package.cuts = true;
  package.nonce = RandomName(32);
  return package;
}

Status Refuse(PlanningOutcome& planning, const std::string& file, const std::vector<std::string>& refusals) {
  for (const std::string& refusal : refusals) LogError(StrCat(file, ": ", refusal));
  planning.told = true;
  return Status(Code::kInvalidArgument, refusals.front());
}

/// Returns the end of the run if the plan offers nothing.
std::optional<RunEnd> EndOf(const RunOutcome& outcome, const std::vector<std::string>& left_out) {
  if (!outcome.offered.empty()) return std::nullopt;
  RunEnd end;
  for (const UnitFailure& failure : outcome.failures)
    end.failures.push_back({failure.unit, std::string(failure.why.message())});
  if (end.failures.empty() && !outcome.status.ok())
    end.failures.push_back({"", std::string(outcome.status.message())});
  for (const std::string& one : left_out) end.failures.push_back({"", one});
  return end;
}

Status PlanInto(PlanningOutcome& planning, const PlanningRequest& request, LoadedPipeline& loaded,
                StatusDisplay& display, const std::stop_token& stop) {
  std::optional<Attendance> attendance;
  if (request.present == nullptr) attendance.emplace(stop);
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenStore(request.package));
  WorkPlace place = request.place ? *request.place : WorkPlaceOf(request.pipeline, loaded.spec);
  if (!place.is_remote()) place.home = std::filesystem::absolute(place.home).string();
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Workspace> workspace,
      Workspace::Open(place, Workspace::Access::kWrite, display, SourceFiles::Network::kMayAsk, stop));
  // Nobody else plans from here on.
  const Result<WorkPackage> before = ReadWorkPackage(*store);
  if (before.status().code() == Code::kUnavailable) return before.status();
  if (request.present != nullptr && (!before.ok() || before->nonce != request.present->nonce))
    return Status(Code::kFailedPrecondition, "another plan has replaced the one that this worker has seen");
  ASSIGN_OR_RETURN(const TakenResults taken,
                   TakeResultsFrom(*workspace, request.package, before.ok() ? before->run : std::string()));
  planning.added = taken.added;

  if (request.check) workspace->ReadAllSources();
  ASSIGN_OR_RETURN(const Snapshot snapshot, workspace->TakeSnapshot(loaded.graph, loaded.spec, stop));
  const Result<MachineFacts> facts = MachineFactsOf(loaded.graph, snapshot);
  if (request.present != nullptr) {
    RETURN_IF_ERROR(facts.status());
    const Status fits = CheckFits(*request.present, *facts, workspace->hashed());
    planning.unfit = !fits.ok();
    RETURN_IF_ERROR(fits);
  }
  ASSIGN_OR_RETURN(const Plan plan,
                   MakePlan(loaded.graph, snapshot, StoredIn(workspace->environment()), request.selection));
  for (const std::string& report : plan.reports) LogWarning(report);
  if (!plan.refusals.empty()) return Refuse(planning, request.pipeline.file, plan.refusals);
  for (const std::string& left_out : plan.left_out) LogError(StrCat(request.pipeline.file, ": ", left_out));
  planning.left_out = plan.left_out;
  if (!plan.left_out.empty() && plan.nothing_to_do()) {
    planning.told = true;
    return Status(Code::kInvalidArgument, plan.left_out.front());
  }

  RunOptions run;
  run.threads = ThreadCount(request.threads);
  run.keep_going = kKeepGoing;
  run.memory_bytes = loaded.spec.memory_limit;
  run.mode = ExecutionMode::kPlanning;
  Executor executor(loaded.graph, plan, snapshot, workspace->environment(), run);
  RETURN_IF_ERROR(executor.Prepare());
  RETURN_IF_ERROR(executor.MarkLocations(stop));
  attendance.reset();
  display.Start();
  RunOutcome outcome = executor.Run(stop);
  display.Stop();
  for (const std::string& line : FailureLines(outcome.failures)) LogError(line);
  for (const std::string& line : outcome.faults) LogWarning(line);
  if (outcome.status.code() == Code::kCancelled) return outcome.status;

  WorkPackage work_package = NewPackage(request, loaded, *workspace);
  work_package.work = place.home;
  work_package.group_memory = GroupMemory(run);
  work_package.units = outcome.offered;
  if (facts.ok()) work_package.machine = *facts;
  // Workers need the secrets; other users of this machine must not read them.
  if (HoldsSecrets(work_package)) umask(S_IRWXG | S_IRWXO);
  if (request.before_writing) RETURN_IF_ERROR(request.before_writing());
  if (before.ok()) work_package.run = before->run;
  ASSIGN_OR_RETURN(const bool begins, BeginsRun(*store, before, request, !outcome.offered.empty()));
  const std::optional<RunEnd> end = EndOf(outcome, plan.left_out);
  // Its history goes with the plan that is written now.
  if (request.present == nullptr && before.ok()) EndRunBefore(*workspace, *store, {begins, end}, stop);
  planning.begins = begins;
  if (begins) {
    const RunLine line = NewRunLine(request.command);
    work_package.run = line.id;
    BeginWorkersRun(*workspace, line, loaded, plan, snapshot, run);
  }
  planning.nonce = work_package.nonce;
  const std::string run_id = work_package.run;
  RETURN_IF_ERROR(Write(*store, std::move(work_package), before, taken, workspace->directory().log()));
  if (request.present == nullptr) {
    RETURN_IF_ERROR(Reopen(*store, run_id));
    if (end && end->failures.empty()) RETURN_IF_ERROR(WriteEnd(*store, planning.nonce));
  }
  planning.offered = std::move(outcome.offered);
  planning.needs = outcome.needs;
  planning.failures = std::move(outcome.failures);
  if (outcome.lost_lease || (planning.failures.empty() && !outcome.status.ok()))
    LogError(outcome.status.message());
  planning.run = std::move(outcome.status);
  return {};
}

}  // namespace

PlanningOutcome PlanUnits(const PlanningRequest& request, LoadedPipeline& loaded, StatusDisplay& display,
                          std::stop_token stop) {
  PlanningOutcome planning;
  planning.written = PlanInto(planning, request, loaded, display, stop);
  return planning;
}

}  // namespace pipeline
