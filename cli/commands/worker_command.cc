#include "cli/commands/worker_command.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

#include "base/log.h"
#include "base/str.h"
#include "cli/live/status_display.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/last_words.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/threads.h"
#include "cli/workspace/workspace.h"
#include "dag/books/unit_id.h"
#include "dag/executor.h"
#include "dag/planner.h"
#include "dag/segment_unit.h"
#include "dag/work_package.h"
#include "storage/local_store.h"
#include "storage/own_directory.h"
#include "storage/remote/open_store.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kLargestLog = std::uint64_t{4} << 30;

int ExitOf(const Status& status) {
  switch (status.code()) {
    case Code::kOk: return kExitDone;
    case Code::kCancelled:
    case Code::kUnavailable:
    case Code::kResourceExhausted:
    case Code::kAlreadyExists:  // another worker was quicker: the next try finds its record
    case Code::kFailedPrecondition: return kExitTryAgain;
    case Code::kDataLoss: return kExitBadData;
    case Code::kNotFound: return kExitNoInput;
    case Code::kPermissionDenied: return kExitPermission;
    case Code::kInvalidArgument: return kExitConfig;
    case Code::kUnimplemented:
    case Code::kInternal: break;
  }
  return kExitBug;
}

struct WorkerOptions {
  std::string plan;  // the location of the work package
  std::string unit;
  std::string scratch;  // a directory for temporaries; empty: the system's
  int threads = 0;
};

int Fail(const WorkerOptions& options, const Status& why, int code) {
  LogError(StrCat(options.unit, ": ", why.message()));
  return code;
}
int Fail(const WorkerOptions& options, const Status& why) { return Fail(options, why, ExitOf(why)); }

/// A directory of this process, which is removed with this object.
class Scratch {
 public:
  explicit Scratch(const std::string& below) {
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
  ~Scratch() {
    if (!status_.ok()) return;  // it may be somebody else's
    std::error_code ignored;    // nothing needs the directory any more
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string path() const { return path_.string(); }
  const Status& status() const { return status_; }

 private:
  std::filesystem::path path_;
  Status status_;
};

/// Begins the log of this worker with the plan's log; AddRecords adds the results of other workers.
Status PrepareLog(Store& store, const WorkPackage& work_package, const std::string& scratch) {
  ASSIGN_OR_RETURN(const std::string text, ReadObject(store, work_package.log, kLargestLog));
  LocalStore local(scratch);
  return WriteObject(local, "run.log", text, Condition::ReplaceAny()).status();
}

Status AddRecords(Store& store, const std::string& stage, RunLog& log) {
  std::vector<std::string> unreadable;  // the next `pipe plan` reports and removes them
  ASSIGN_OR_RETURN(std::vector<UnitRecord> records, ReadWorkResults(store, stage + "/", unreadable));
  for (UnitRecord& record : records) {
    if (record.line.state == UnitState::kVoid) continue;
    ASSIGN_OR_RETURN(record.line.segment, log.AppendSegment(record.lineage));
    RETURN_IF_ERROR(log.Append(record.line));
  }
  return {};
}

const PlannedSegment* SegmentOf(const Plan& plan, std::string_view stage) {
  for (const PlannedSegment& segment : plan.segments)
    if (segment.keys.stage == stage) return &segment;
  return nullptr;
}

/// OK: this program makes the same recipe of the file as the plan.
Status CheckRecipe(const WorkPackage& work_package, const Plan& plan, const std::string& unit,
                   const std::string& stage) {
  const PlannedSegment* segment = SegmentOf(plan, stage);
  for (const OfferedUnit& offered : work_package.units)
    if (offered.unit == unit && (segment == nullptr || segment->recipe() != offered.recipe))
      return Status(
          Code::kInvalidArgument,
          "this program or its libraries make another recipe of the pipeline than the plan asks for; "
          "use the same version everywhere, or plan again with this one");
  return {};
}

/// One call of the command.
class OneUnit final {
 public:
  OneUnit(const WorkerOptions& options, SignalWatch& signals) : options_(options), signals_(signals) {}

  int Run() {
    const std::size_t slash = options_.unit.rfind('/');
    if (slash == std::string::npos || slash == 0)
      return Fail(options_, Status(Code::kInvalidArgument, "is no unit; a unit has the form STAGE/PART"),
                  kExitUsage);
    stage_ = options_.unit.substr(0, slash);
    Result<std::unique_ptr<Store>> store = OpenStore(options_.plan);
    if (!store.ok()) return Fail(options_, store.status(), kExitUsage);
    store_ = std::move(*store);
    const Result<WorkPackage> work_package = ReadWorkPackage(*store_);
    if (!work_package.ok())
      return Fail(options_, Status(work_package.status()).Annotate(options_.plan),
                  work_package.status().code() == Code::kNotFound ? kExitUsage : kExitConfig);
    const Scratch scratch(options_.scratch);
    if (const Status& made = scratch.status(); !made.ok())
      return Fail(options_, made, made.code() == Code::kPermissionDenied ? kExitPermission : kExitTryAgain);
    if (chdir(work_package->directory.c_str()) != 0)
      LogWarning(
          StrCat(work_package->directory, ": is not on this machine; relative paths will not be found"));
    return RunIn(*work_package, scratch.path());
  }

 private:
  int RunIn(const WorkPackage& work_package, const std::string& scratch) {
    PipelineOptions file;
    file.file = work_package.file;
    file.set = work_package.set;
    file.subset = work_package.subset;
    const std::unique_ptr<LoadedPipeline> loaded =
        LoadPipelineText(work_package.pipeline, file, LoadPurpose::kRun);
    if (!loaded) return kExitConfig;
    StatusDisplay display(false);
    if (const Status copied = PrepareLog(*store_, work_package, scratch); !copied.ok())
      return Fail(options_, copied, copied.code() == Code::kNotFound ? kExitTryAgain : ExitOf(copied));
    Result<std::unique_ptr<Workspace>> workspace = Workspace::Join(work_package, scratch, display);
    if (!workspace.ok()) return Fail(options_, workspace.status());
    RunLog& log = (*workspace)->log();
    if (const Status added = AddRecords(*store_, stage_, log); !added.ok()) return Fail(options_, added);
    std::atomic<bool> damaged = false;
    log.SetListener([&](const UnitLine& line) { return Tell(log, line, damaged); });

    const Result<Snapshot> snapshot = (*workspace)->TakeSnapshot(loaded->graph, signals_.token());
    if (!snapshot.ok()) return Fail(options_, snapshot.status());
    Selection selection;
    selection.from_log = true;  // `pipe plan` has this flag if it is needed
    const Result<Plan> plan =
        MakePlan(loaded->graph, *snapshot, StoredIn((*workspace)->environment()), selection);
    if (!plan.ok()) return Fail(options_, plan.status());
    if (!plan->refusals.empty())
      return Fail(options_, Status(Code::kInvalidArgument, plan->refusals.front()));
    if (const Status fits = CheckRecipe(work_package, *plan, options_.unit, stage_); !fits.ok())
      return Fail(options_, fits);

    const RunOptions run = RunOptionsFor(work_package, loaded->spec);
    loaded->plugins.StoreWith((*workspace)->environment().open_store);
    Executor executor(loaded->graph, *plan, *snapshot, (*workspace)->environment(), run);
    if (const Status prepared = executor.Prepare(); !prepared.ok()) return Fail(options_, prepared);
    display.Start();
    const RunOutcome outcome = executor.Run(signals_.token());
    display.Stop();
    return ExitFor(outcome, log, damaged);
  }

  RunOptions RunOptionsFor(const WorkPackage& work_package, const PipelineSpec& spec) const {
    RunOptions run;
    run.threads = ThreadCount(options_.threads);
    run.memory_bytes = spec.memory_limit;
    run.group_bytes = work_package.group_memory;
    run.mode = ExecutionMode::kOneUnit;
    run.unit = options_.unit;
    return run;
  }

  /// Stores a work result for each unit that is done or found damaged; a failure only ends this worker.
  Status Tell(const RunLog& log, const UnitLine& line, std::atomic<bool>& damaged) {
    if (line.state == UnitState::kFailed) return {};
    if (line.state == UnitState::kVoid) damaged = true;
    const SegmentLine* segment = log.FindSegment(line.segment);
    return StoreWorkResult(*store_, {line, segment == nullptr ? "[]" : segment->lineage});
  }

  /// A stage that refuses to go on fails again at each try. If a unit writes shards or an artifact, the same
  /// code means that another worker was quicker.
  int ExitOfUnit(const Status& why) const {
    if (why.Detail<SourceChanged>() != nullptr) return kExitNoInput;
    const std::optional<UnitId> unit = ParseUnitId(options_.unit);
    const bool reads = unit && (std::holds_alternative<StreamId>(unit->part) ||
                                std::holds_alternative<PartitionId>(unit->part));
    return reads && why.code() == Code::kFailedPrecondition ? kExitBadData : ExitOf(why);
  }

  int ExitFor(const RunOutcome& outcome, const RunLog& log, bool damaged) const {
    for (const UnitFailure& failure : outcome.failures)
      LogError(StrCat(failure.unit, ": ", failure.why.message()));
    if (!outcome.failures.empty()) return ExitOfUnit(outcome.failures.front().why);
    if (!outcome.status.ok()) return Fail(options_, outcome.status);
    if (damaged)
      return Fail(options_, Status(Code::kNotFound, "its input is damaged; plan again"), kExitNoInput);
    if (log.FindDone(options_.unit) != nullptr) return kExitDone;
    if (!outcome.ran)
      return Fail(options_, Status(Code::kInvalidArgument, "the plan has no such unit that can run now"),
                  kExitUsage);
    return Fail(options_, Status(Code::kInternal, "ended without being done [this is a bug]"));
  }

  const WorkerOptions& options_;
  SignalWatch& signals_;
  std::string stage_;
  std::unique_ptr<Store> store_;
};

}  // namespace

Command WorkerCommand() {
  const auto options = std::make_shared<WorkerOptions>();
  return {
      .name = "worker",
      .help = "Run one unit of a work package",
      .wrong_words_exit = kExitUsage,
      .words = {{.flags = {"--plan"},
                 .value = "PLACE",
                 .help = "The place of the work package, as given to pipe plan",
                 .required = true,
                 .to = &options->plan},
                {.flags = {"--unit"},
                 .value = "UNIT",
                 .help = "The unit, as the plan names it",
                 .required = true,
                 .to = &options->unit},
                {.flags = {"--scratch"},
                 .value = "DIR",
                 .help = "Directory for temporary files",
                 .to = &options->scratch},
                ThreadsWord(options->threads)},
      .run =
          [options](const Call&) {
            SayLastWords(kExitTryAgain);
            SignalWatch signals;
            return OneUnit(*options, signals).Run();
          },
  };
}

}  // namespace pipeline
