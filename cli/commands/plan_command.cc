#include "cli/commands/plan_command.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "base/log.h"
#include "base/str.h"
#include "cli/live/status_display.h"
#include "cli/terminal/command_line.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/refuse.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/threads.h"
#include "cli/workspace/work_result.h"
#include "cli/workspace/workspace.h"
#include "dag/executor.h"
#include "dag/planner.h"
#include "dag/work_package.h"
#include "storage/local_file.h"
#include "storage/remote/open_store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

constexpr std::string_view kLogPrefix = "log/";
constexpr int kKeepGoing = 1'000'000;  // what can run is offered, whatever else has failed

/// Returns the location in a form that is valid for workers in other directories and on other machines.
Result<std::string> Absolute(const std::string& location) {
  ASSIGN_OR_RETURN(const Uri uri, Uri::Parse(location));
  return uri.is_local() ? std::filesystem::absolute(uri.path).string() : location;
}

/// Copies the log beside the plan, under its digest; returns the object.
Result<std::string> CopyLog(Store& store, const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<LocalFile> file, LocalFile::Open(path));
  std::string text(file->size(), '\0');
  const ByteFile& bytes = *file;
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, bytes.Open(0, {}));
  RETURN_IF_ERROR(ReadExactly(*reader, text));
  const std::string object = StrCat(kLogPrefix, DigestOf(text).ToHex());
  RETURN_IF_ERROR(WriteObject(store, object, text, Condition::ReplaceAny()).status());
  return object;
}

/// Workers of the previous plan may still read its log; workers of older plans have ended or are too late.
Status RemoveOldLogs(Store& store, const std::set<std::string>& kept) {
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> logs, store.List(kLogPrefix));
  for (const ObjectInfo& log : logs)
    if (!kept.contains(log.name)) RETURN_IF_ERROR(store.Remove(log.name));
  return {};
}

/// Returns whether the work package has addresses with secrets, which open files that are not public.
bool HoldsSecrets(const WorkPackage& work_package) {
  const auto is_secret = [](const std::string& text) { return WithoutSecret(text) != text; };
  return std::any_of(work_package.files.begin(), work_package.files.end(),
                     [&](const WorkPackage::File& file) { return is_secret(file.path); }) ||
         std::any_of(work_package.set.begin(), work_package.set.end(),
                     [&](const auto& assignment) { return is_secret(assignment.second); });
}

Status Write(Store& store, WorkPackage work_package, const std::string& log_path) {
  std::set<std::string> logs;
  if (const Result<WorkPackage> before = ReadWorkPackage(store); before.ok()) logs.insert(before->log);
  ASSIGN_OR_RETURN(work_package.log, CopyLog(store, log_path));
  logs.insert(work_package.log);
  std::string names;
  for (const OfferedUnit& unit : work_package.units) names += unit.unit + "\n";
  RETURN_IF_ERROR(WriteObject(store, "units.txt", names, Condition::ReplaceAny()).status());
  RETURN_IF_ERROR(
      WriteObject(store, kWorkPackageName, EncodeWorkPackage(work_package), Condition::ReplaceAny())
          .status());
  return RemoveOldLogs(store, logs);
}

struct PlanOptions {
  PipelineOptions pipeline;
  Selection selection;
  std::string output;  // the location of the work package
  int threads = 0;
};

int OfferUnits(const PlanOptions& options) {
  SignalWatch signals;
  WorkPackage work_package;
  const std::unique_ptr<LoadedPipeline> loaded =
      LoadPipeline(options.pipeline, LoadPurpose::kOffer, &work_package.pipeline);
  if (!loaded) return kExitRefused;
  const Result<std::string> where = Absolute(options.output);
  if (!where.ok()) return Refuse(where.status());
  const Result<std::unique_ptr<Store>> store = OpenStore(*where);
  if (!store.ok()) return Refuse(store.status());
  StatusDisplay display(false);
  const std::string work = std::filesystem::absolute(WorkPath(options.pipeline, loaded->spec)).string();
  const Result<std::unique_ptr<Workspace>> workspace =
      Workspace::Open(work, Workspace::Access::kWrite, display);
  if (!workspace.ok()) return Refuse(workspace.status());
  if (const Status taken = TakeBackFrom(**workspace, *where); !taken.ok()) return Refuse(taken);

  const Result<Snapshot> snapshot = (*workspace)->TakeSnapshot(loaded->graph, signals.token());
  if (!snapshot.ok()) return signals.exit_code() != 0 ? signals.exit_code() : Refuse(snapshot.status());
  const Result<Plan> plan =
      MakePlan(loaded->graph, *snapshot, StoredIn((*workspace)->environment()), options.selection);
  if (!plan.ok()) return Refuse(plan.status());
  for (const std::string& report : plan->reports) LogWarning(report);
  for (const std::string& refusal : plan->refusals) LogError(StrCat(options.pipeline.file, ": ", refusal));
  for (const std::string& left_out : plan->left_out) LogError(StrCat(options.pipeline.file, ": ", left_out));
  if (!plan->refusals.empty() || (!plan->left_out.empty() && plan->nothing_to_do())) return kExitRefused;

  RunOptions run;
  run.threads = ThreadCount(options.threads);
  run.keep_going = kKeepGoing;
  run.memory_bytes = loaded->spec.memory_limit;
  run.mode = ExecutionMode::kPlanning;
  Executor executor(loaded->graph, *plan, *snapshot, (*workspace)->environment(), run);
  Status ready = executor.Prepare();
  if (ready.ok()) ready = executor.MarkLocations(signals.token());
  if (!ready.ok()) return Refuse(ready);
  display.Start();
  const RunOutcome outcome = executor.Run(signals.token());
  display.Stop();
  for (const UnitFailure& failure : outcome.failures)
    LogError(StrCat(failure.unit, ": ", failure.why.message()));
  if (outcome.status.code() == Code::kCancelled && signals.exit_code() != 0) return signals.exit_code();

  work_package.file = options.pipeline.file;
  work_package.set = options.pipeline.set;
  work_package.subset = options.pipeline.subset;
  work_package.directory = std::filesystem::current_path().string();
  work_package.work = work;
  work_package.holder = (*workspace)->environment().lease.holder;
  work_package.group_memory = GroupMemory(run);
  work_package.files = (*workspace)->hashed();
  work_package.units = outcome.offered;
  // Workers need the secrets; other users of this machine must not read them.
  if (HoldsSecrets(work_package)) umask(S_IRWXG | S_IRWXO);
  const Status written = Write(**store, std::move(work_package), (*workspace)->directory().log());
  if (!written.ok()) return Refuse(written);
  std::printf("%zu\n", outcome.offered.size());
  if (outcome.lost_lease || (outcome.failures.empty() && !outcome.status.ok()))
    LogError(outcome.status.message());
  return outcome.status.ok() && plan->left_out.empty() ? kExitDone : kExitFailed;
}

}  // namespace

Command PlanCommand() {
  const auto options = std::make_shared<PlanOptions>();
  return {
      .name = "plan",
      .help = "Offer the units that can run now to workers; print their number, 0 if all is done",
      .words = Joined(PipelineWords(options->pipeline),
                      {FromLogWord(options->selection.from_log),
                       {.flags = {"-o", "--output"},
                        .value = "PLACE",
                        .help = "Directory or URI below which the work package is written",
                        .required = true,
                        .to = &options->output},
                       ThreadsWord(options->threads)}),
      .run = [options](const Call&) { return OfferUnits(*options); },
  };
}

}  // namespace pipeline
