#include <unistd.h>

#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/str.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/machine_memory.h"
#include "cli/worker/next_units.h"
#include "cli/worker/package_run.h"
#include "cli/workspace/pipeline_words.h"
#include "dag/package/submission.h"
#include "storage/directory.h"
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

Scratch::Scratch(const std::string& below) {
  std::error_code error;
  const std::filesystem::path parent =
      below.empty() ? std::filesystem::temp_directory_path(error) : std::filesystem::path(below);
  if (!error) path_ = std::filesystem::absolute(parent / StrCat("pipe-worker-", getpid()), error);
  if (error) {
    status_ = SystemError(StrCat("making the directory ", path_.string()), error.value());
    return;
  }
  // The directory of a dead worker with the same process id becomes ours, and is emptied.
  status_ = MakeOwnDirectory(path_);
  if (!status_.ok()) return;
  for (const auto& left : std::filesystem::directory_iterator(path_, error))
    if (std::filesystem::remove_all(left, error); error) break;
  if (error) status_ = SystemError(StrCat("emptying the directory ", path_.string()), error.value());
}

std::optional<std::uint64_t> Scratch::Room() const {
  const Result<std::uint64_t> free = FreeBytes(path());
  if (!free.ok()) return std::nullopt;
  std::uint64_t own = 0;
  std::error_code error;
  for (auto at = std::filesystem::recursive_directory_iterator(path_, error);
       !error && at != std::filesystem::recursive_directory_iterator(); at.increment(error)) {
    std::error_code gone;  // a thread may remove a file meanwhile
    if (const std::uintmax_t bytes = at->is_regular_file(gone) ? at->file_size(gone) : 0; !gone) own += bytes;
  }
  return *free + own;
}

Scratch::~Scratch() {
  if (!status_.ok()) return;  // it may be somebody else's
  std::error_code ignored;    // nothing needs the directory any more
  std::filesystem::remove_all(path_, ignored);
}

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
