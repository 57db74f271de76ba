#include "cli/worker/opened_package.h"

#include <unistd.h>

#include <utility>

#include "base/log.h"
#include "base/str.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/machine_memory.h"
#include "cli/terminal/threads.h"
#include "cli/worker/package_run.h"
#include "dag/package/submission.h"
#include "storage/remote/open_store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

int Fail(const Status& why, int code) {
  LogError(why.message());
  return code;
}

std::unique_ptr<LoadedPipeline> Load(const WorkPackage& plan) {
  if (chdir(plan.directory.c_str()) != 0)
    LogWarning(StrCat(plan.directory, ": is not on this machine; relative paths will not be found"));
  PipelineOptions file;
  file.file = plan.file;
  file.set = plan.set;
  file.subset = plan.subset;
  std::unique_ptr<LoadedPipeline> loaded =
      LoadPipelineText(plan.pipeline, file, LoadPurpose::kWork, plan.until);
  if (!loaded) return loaded;
  SetRules(loaded->spec, plan.rules.value_or(StageRules()), plan.rules ? kNewestRules : kFirstRules);
  HoldRules(loaded->spec);  // the worker plans by them, too
  return loaded;
}

WorkerRoom RoomOf(const WorkerOptions& options, std::uint64_t limit, const Scratch& scratch) {
  WorkerRoom room{limit, static_cast<std::uint64_t>(ThreadCount(options.threads)), scratch.Room(),
                  "limits.memory", scratch.path()};
  const auto bound = [&room](std::uint64_t memory, const std::string& by) {
    if (memory >= *room.memory) return;
    room.memory = memory;
    room.memory_by = by;
  };
  if (const MachineMemory machine = FindMachineMemory(); !Fits(limit, machine))
    bound(machine.bytes, machine.of);
  if (options.memory > 0) bound(options.memory, "--memory");
  return room;
}

/// No later try makes a directory whose path cannot be one.
int ExitOfScratch(Code code) {
  switch (code) {
    case Code::kPermissionDenied: return kExitPermission;
    case Code::kNotFound:
    case Code::kInvalidArgument: return kExitConfig;
    default: return kExitTryAgain;
  }
}

}  // namespace

int OpenPackage(const WorkerOptions& options, OpenedPackage& opened, const std::stop_token& stop) {
  Result<std::unique_ptr<Store>> store = OpenStore(options.plan);
  if (!store.ok()) return Fail(store.status(), kExitUsage);
  opened.store = std::move(*store);
  Result<WorkPackage> plan = ReadWorkPackage(*opened.store);
  if (!plan.ok()) {
    const Code code = plan.status().code();
    if (code == Code::kNotFound)
      return Fail(Status(code, StrCat(options.plan, ": holds no work package; `pipe plan FILE -o ",
                                      options.plan, "` makes one")),
                  kExitUsage);
    return Fail(std::move(plan).status().Annotate(options.plan),
                code == Code::kUnavailable ? kExitTryAgain : kExitConfig);
  }
  opened.plan = std::move(*plan);
  if (IsRemote(options.plan))
    if (const Status may = CheckRights(*opened.store, options.plan, stop); !may.ok())
      return Fail(may, WorkerExitOf(may));
  opened.scratch = std::make_unique<Scratch>(options.scratch);
  if (const Status& made = opened.scratch->status(); !made.ok())
    return Fail(made, ExitOfScratch(made.code()));
  opened.loaded = Load(opened.plan);
  if (!opened.loaded) return kExitConfig;
  opened.room = RoomOf(options, opened.loaded->spec.memory_limit, *opened.scratch);
  return kExitDone;
}

}  // namespace pipeline
