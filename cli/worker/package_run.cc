#include "cli/worker/package_run.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/terminal/exit_code.h"
#include "dag/books/unit_id.h"
#include "dag/plan/planner.h"
#include "dag/run/job_unit.h"
#include "dag/run/segment_unit.h"
#include "storage/local_store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kLargestLog = std::uint64_t{4} << 30;

bool IsFirstPartition(std::string_view unit) {
  const std::optional<UnitId> id = ParseUnitId(unit);
  const PartitionId* const partition = id ? std::get_if<PartitionId>(&id->part) : nullptr;
  return partition != nullptr && partition->partition == 0;
}

const PlannedSegment* SegmentOf(const Plan& plan, std::string_view stage) {
  for (const PlannedSegment& segment : plan.segments)
    if (segment.keys.stage == stage) return &segment;
  return nullptr;
}

/// Returns whether a stage refuses to go on, at each try. If a unit writes shards or an artifact, the same
/// code may mean that another worker was quicker.
bool Refuses(const std::string& unit, const Status& why) {
  if (why.code() != Code::kFailedPrecondition) return false;
  const std::optional<UnitId> id = ParseUnitId(unit);
  const bool reads =
      id && (std::holds_alternative<StreamId>(id->part) || std::holds_alternative<PartitionId>(id->part));
  return reads || why.Detail<StageRefused>() != nullptr;
}

/// Begins the log of this worker with the plan's log. LogIsMissing: perhaps a newer plan has removed it.
Status PrepareLog(Store& store, const WorkPackage& work_package, const std::string& scratch) {
  const Result<std::string> text = ReadObject(store, work_package.log, kLargestLog);
  const Code code = text.status().code();
  if (!text.ok() && code != Code::kNotFound && code != Code::kDataLoss) return text.status();
  if (!text.ok() || !work_package.log.ends_with(DigestOf(*text).ToHex()))
    return Status(Code::kUnavailable, StrCat(work_package.log, ": is ", text.ok() ? "damaged" : "not there",
                                             "; perhaps another plan has replaced this one"))
        .With(std::make_shared<LogIsMissing>());
  LocalStore local(scratch);
  return WriteObject(local, "run.log", *text, Condition::ReplaceAny()).status();
}

}  // namespace

int WorkerExitOf(const Status& status) {
  switch (status.code()) {
    case Code::kOk: return kExitDone;
    case Code::kCancelled:
    case Code::kUnavailable:
    case Code::kPreempted:
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

Result<std::unique_ptr<PackageRun>> PackageRun::Open(Store& store, const WorkPackage& work_package,
                                                     LoadedPipeline& loaded, const std::string& scratch,
                                                     int threads, std::uint64_t memory,
                                                     StatusDisplay& display, std::string who,
                                                     const std::stop_token& stop) {
  std::unique_ptr<PackageRun> run(new PackageRun(store, work_package, loaded, display));
  run->who_ = std::move(who);
  run->options_.threads = threads;
  run->options_.memory_bytes = memory;
  run->options_.group_bytes = work_package.group_memory;
  run->options_.mode = ExecutionMode::kOneUnit;
  run->options_.cut_inputs = work_package.cuts;
  if (const Result<std::chrono::milliseconds> every = LeasePeriodFromEnvironment(); every.ok())
    run->options_.scan_period = *every / 15;
  for (const OfferedUnit& offered : run->work_package_.units)
    run->recipes_.emplace(offered.unit, offered.recipe);
  RETURN_IF_ERROR(PrepareLog(store, work_package, scratch));
  ASSIGN_OR_RETURN(run->workspace_, Workspace::Join(work_package, scratch, display));
  RunLog& log = run->workspace_->log();
  log.SetListener([raw = run.get()](const UnitLine& line) { return raw->Tell(line); });
  ASSIGN_OR_RETURN(Snapshot snapshot, run->workspace_->TakeSnapshot(loaded.graph, loaded.spec, stop));
  run->snapshot_ = std::move(snapshot);
  ASSIGN_OR_RETURN(const MachineFacts facts, MachineFactsOf(loaded.graph, *run->snapshot_));
  RETURN_IF_ERROR(CheckMachine(work_package, facts, run->workspace_->hashed()));
  loaded.plugins.StoreWith(run->workspace_->environment().open_store);
  return run;
}

Status PackageRun::MakeItsPlan() {
  Selection selection;
  selection.from_log = true;  // `pipe plan` has this flag if it is needed
  ASSIGN_OR_RETURN(Plan plan,
                   MakePlan(loaded_.graph, *snapshot_, StoredIn(workspace_->environment()), selection));
  if (!plan.refusals.empty()) return Status(Code::kInvalidArgument, plan.refusals.front());
  plan_.emplace(std::move(plan));
  return {};
}

Status PackageRun::Prepare(const std::string& stage) {
  if (executor_ && options_.stage == stage) return {};
  executor_.reset();
  options_.stage = stage;
  auto executor =
      std::make_unique<Executor>(loaded_.graph, *plan_, *snapshot_, workspace_->environment(), options_);
  RETURN_IF_ERROR(executor->Prepare());
  executor_ = std::move(executor);
  return {};
}

Status PackageRun::AddRecords(const std::string& unit, Others others) {
  const std::optional<UnitId> id = ParseUnitId(unit);
  if (!id || others == Others::kHaveNotBegun) return {};
  // The partitions of an input that exist are not made again. A shard is written together with others.
  const char end = std::holds_alternative<ShardId>(id->part) ? '/' : '-';
  const std::string prefix = unit.substr(0, unit.rfind(end) + 1);
  std::vector<std::string> unreadable;  // the next `pipe plan` reports and removes them
  ASSIGN_OR_RETURN(std::vector<UnitRecord> records, ReadWorkResults(store_, prefix, unreadable));
  RunLog& log = workspace_->log();
  adding_ = true;
  Status added;
  for (UnitRecord& record : records) {
    if (record.line.state == UnitState::kVoid || !TellsMore(record.line, log)) continue;
    Result<std::uint32_t> segment = log.AppendSegment(*record.lineage_text);
    added = segment.ok() ? log.Append(record.LinesIn(*segment)) : std::move(segment).status();
    if (!added.ok()) break;
    executor_.reset();
    plan_.reset();
  }
  adding_ = false;
  return added;
}

Status PackageRun::CheckSideFiles() const {
  const Environment& environment = workspace_->environment();
  for (const auto& [stage, files] : snapshot_->side_files)
    for (const Snapshot::SideFile& side_file : files)
      for (const SourceFile& file : side_file.found) {
        const Result<bool> is_unchanged = environment.is_unchanged(file, file.identity, {});
        if (!is_unchanged.ok() || !*is_unchanged)
          return Status(Code::kUnavailable, StrCat(file.input.path, ": was replaced while this worker ran"));
      }
  return {};
}

Status PackageRun::CheckRecipe(const std::string& unit, std::string_view stage) const {
  const auto offered = recipes_.find(unit);
  if (offered == recipes_.end() || SegmentOf(*plan_, stage)->recipe() == offered->second) return {};
  return Status(Code::kInvalidArgument,
                "this program or its libraries make another recipe of the pipeline than the plan asks for; "
                "use the same version everywhere, or plan again with this one");
}

UnitEnd PackageRun::Run(const std::string& unit, Others others, const std::stop_token& stop) {
  const std::size_t slash = unit.rfind('/');
  if (slash == std::string::npos || slash == 0)
    return Fail(unit, Status(Code::kInvalidArgument, "is no unit; a unit has the form STAGE/PART"),
                kExitUsage);
  damaged_ = false;
  const std::optional<UnitId> id = ParseUnitId(unit);
  running_ = id && std::holds_alternative<PartitionId>(id->part) ? unit : "";
  began_ = std::chrono::steady_clock::now();
  // Two short units in one millisecond are two.
  began_at_ = std::max(SystemClock().UnixMillis(), began_at_ + 1);
  if (const Status same = CheckSideFiles(); !same.ok()) return Fail(unit, same);
  if (const Status added = AddRecords(unit, others); !added.ok()) return Fail(unit, added);
  if (!plan_)
    if (const Status planned = MakeItsPlan(); !planned.ok()) return Fail(unit, planned);
  const std::string stage = unit.substr(0, slash);
  if (SegmentOf(*plan_, stage) == nullptr) return NoSuchUnit(unit);
  if (const Status fits = CheckRecipe(unit, stage); !fits.ok()) {
    const std::string changed = ChangedFile(work_package_, workspace_->hashed());
    if (changed.empty()) return Fail(unit, fits);
    UnitEnd end = Fail(unit, Status(Code::kNotFound, ChangedSince(changed)));
    end.plan_again = true;
    end.unfit = !IsRemote(changed);
    return end;
  }
  if (const Status prepared = Prepare(stage); !prepared.ok()) return Fail(unit, prepared);
  display_.Start();
  const RunOutcome outcome = executor_->RunUnit(unit, stop);
  display_.Stop();
  Status told;
  {
    const Lock lock(mutex_);
    told = WriteHeld();
    const std::optional<UnitRecord> done = std::exchange(done_, std::nullopt);
    if (told.ok() && done) told = results_.Write(*done);
  }
  results_.EndUnit();
  UnitEnd end = EndOf(unit, outcome, told);
  if (end.code != kExitDone) executor_.reset();  // it knows of a failure, and perhaps not why
  return end;
}

Status PackageRun::Tell(const UnitLine& line) {
  if (adding_ || line.state == UnitState::kFailed) return {};
  if (line.state == UnitState::kVoid) damaged_ = true;
  // A Job reads such files at its beginning, and may take days.
  const std::optional<UnitId> id = ParseUnitId(line.unit);
  if (!id || !std::holds_alternative<JobId>(id->part)) RETURN_IF_ERROR(CheckSideFiles());
  const Lock lock(mutex_);
  UnitRecord record = RecordFor(line);
  // The end of an input of one partition comes at once, and one record tells both.
  if (line.state == UnitState::kEnd && held_)
    record.partition = std::exchange(held_, std::nullopt)->line;
  else
    RETURN_IF_ERROR(WriteHeld());
  if (line.state == UnitState::kDone && line.unit == running_) {
    // Until all of its partitions are done, the unit is this worker's.
    done_ = std::move(record);
  } else if (line.state == UnitState::kDone && IsFirstPartition(line.unit)) {
    held_ = std::move(record);
  } else {
    return results_.Write(record);
  }
  return {};
}

Status PackageRun::WriteHeld() {
  const std::optional<UnitRecord> held = std::exchange(held_, std::nullopt);
  return held ? results_.Write(*held) : Status();
}

UnitRecord PackageRun::RecordFor(const UnitLine& line) {
  auto [known, is_new] = lineages_.try_emplace(line.segment);
  if (is_new) {
    const SegmentLine* segment = workspace_->log().FindSegment(line.segment);
    known->second = RecordOf({}, segment == nullptr ? "[]" : segment->lineage);
  }
  UnitRecord record = known->second;
  record.line = line;
  record.who = who_;
  record.began = began_at_;
  record.took =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began_);
  return record;
}

UnitEnd PackageRun::Fail(const std::string& unit, const Status& why, int code) const {
  LogError(WithUnit(why.message(), unit));
  return {code, std::string(why.message())};
}

/// Another process may have done all that the stage has to do.
UnitEnd PackageRun::NoSuchUnit(const std::string& unit) const {
  UnitEnd end =
      Fail(unit, Status(Code::kInvalidArgument, "the plan has no such unit that can run now"), kExitUsage);
  end.plan_again = true;
  return end;
}

UnitEnd PackageRun::EndOf(const std::string& unit, const RunOutcome& outcome, const Status& told) const {
  for (const std::string& line : FailureLines(outcome.failures)) LogError(line);
  if (!outcome.failures.empty()) {
    const Status& why = outcome.failures.front().why;
    const auto* const changed = why.Detail<SourceChanged>();
    // No plan would see it.
    if (changed != nullptr && !changed->silent.empty())
      if (const Status written = WriteChangedSource(store_, changed->silent); !written.ok())
        return Fail(unit, written);
    const int code = changed != nullptr   ? kExitNoInput
                     : Refuses(unit, why) ? kExitBadData
                                          : WorkerExitOf(why);
    return {code, std::string(why.message()), changed != nullptr};
  }
  if (!outcome.status.ok()) return Fail(unit, outcome.status);
  if (!told.ok()) return Fail(unit, told);
  if (damaged_) {
    UnitEnd end = Fail(unit, Status(Code::kNotFound, "its input is damaged; plan again"), kExitNoInput);
    end.plan_again = true;
    return end;
  }
  const RunLog& log = workspace_->log();
  const UnitLine* const cuts = log.FindCuts(unit);
  if (log.FindDone(unit) != nullptr || (cuts != nullptr && !cuts->HasFirstCuts())) return {};
  if (!outcome.ran) return NoSuchUnit(unit);
  return Fail(unit, Status(Code::kInternal, "ended without being done [this is a bug]"));
}

}  // namespace pipeline
