#include "cli/workspace/work_result.h"

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/log.h"
#include "base/str.h"
#include "dag/books/unit_id.h"
#include "storage/remote/open_store.h"

namespace pipeline {

namespace {

constexpr std::string_view kNoteName = "handed-out.txt";
constexpr std::uint64_t kMaxNote = 64 << 10;
constexpr int kOutputLooks = 4;
constexpr std::chrono::seconds kBetweenLooks(1);

/// The history is first: a result is removed only once it is there, and one that is told twice counts once.
Result<TakenResults> AddTo(Workspace& workspace, Store& store, const std::string& run,
                           std::vector<UnitRecord> records, std::vector<std::string> unreadable,
                           const std::string& work_package) {
  RunLog& log = workspace.log();
  RETURN_IF_ERROR(WriteHistory(store, run, HistoryOf(records)));
  for (const std::string& object : unreadable)
    LogWarning(StrCat(work_package, "/", object, ": cannot be read; its unit will run again"));
  ASSIGN_OR_RETURN(TakenResults taken, AddResults(std::move(records), std::move(unreadable), log));
  RETURN_IF_ERROR(log.Flush());  // the results are removed next
  RETURN_IF_ERROR(TakeChangedSources(store, taken, [&](const std::string& path) { workspace.Forget(path); }));
  return taken;
}

/// The objects at the locations that records name. Each location is listed once.
class Locations {
 public:
  explicit Locations(const Environment& environment) : environment_(environment) {}

  Result<bool> Hold(const UnitLine& line, const StoredObject& object) {
    const std::optional<UnitId> unit = ParseUnitId(line.unit);
    const bool in_work = unit && std::holds_alternative<PartitionId>(unit->part);
    const auto [known, is_new] = listed_.try_emplace({in_work, line.location});
    if (is_new) {
      ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, in_work
                                                               ? OpenOutputs(environment_, line.location)
                                                               : OpenLocation(environment_, line.location));
      ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, store->List(""));
      for (const ObjectInfo& there : objects) known->second.emplace(there.name, there);
    }
    const auto there = known->second.find(object.name);
    return there != known->second.end() && object.IsAt(there->second);
  }

 private:
  const Environment& environment_;
  std::map<std::pair<bool, std::string>, std::map<std::string, ObjectInfo>> listed_;
};

/// OK: the objects of all units that are done according to the records exist.
Status CheckOutputs(Workspace& workspace, const std::vector<UnitRecord>& records,
                    const std::string& work_package) {
  // Records of damaged units come before those of finished units.
  std::set<std::string> damaged;
  Locations locations(workspace.environment());
  const auto check = [&](const UnitLine& line) -> Status {
    if (line.state == UnitState::kVoid) damaged.insert(line.unit);
    if (line.state != UnitState::kDone || damaged.contains(line.unit)) return {};
    // `pipe run` may have made the same meanwhile, and removed it once nothing needed it.
    if (const UnitLine* known = workspace.log().FindDone(line.unit);
        known != nullptr && known->recipe == line.recipe && known->digest == line.digest)
      return {};
    for (const StoredObject& object : line.objects) {
      ASSIGN_OR_RETURN(const bool is_here, locations.Hold(line, object));
      if (is_here) continue;
      return Status(
                 Code::kFailedPrecondition,
                 StrCat(line.unit, ": a worker finished it, but its output is not here: ", object.name,
                        " in ", line.location, "; workers need the same work directory (", workspace.home(),
                        ") and the same locations as `pipe plan`, as a network file system gives them; "
                        "copy it here, or remove ",
                        work_package, "/done to run the unit again"))
          .With(std::make_shared<OutputIsMissing>());
    }
    return {};
  };
  for (const UnitRecord& record : records) {
    if (record.partition) RETURN_IF_ERROR(check(*record.partition));
    RETURN_IF_ERROR(check(record.line));
  }
  return {};
}

}  // namespace

Result<TakenResults> TakeResultsFrom(Workspace& workspace, const std::string& work_package,
                                     const std::string& run) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> work, workspace.environment().work_store(""));
  RETURN_IF_ERROR(WriteObject(*work, kNoteName, work_package, Condition::ReplaceAny()).status());
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenStore(work_package));
  std::vector<std::string> unreadable;
  ASSIGN_OR_RETURN(std::vector<UnitRecord> records, ReadWorkResults(*store, "", unreadable));
  Status here = CheckOutputs(workspace, records, work_package);
  // Changes by another machine may become visible some seconds later.
  for (int look = 1; look < kOutputLooks && here.code() == Code::kFailedPrecondition; ++look) {
    std::this_thread::sleep_for(kBetweenLooks);
    here = CheckOutputs(workspace, records, work_package);
  }
  RETURN_IF_ERROR(here);
  return AddTo(workspace, *store, run, std::move(records), std::move(unreadable), work_package);
}

Result<std::optional<std::string>> PackageOf(Store& work) {
  const Result<std::string> note = ReadObject(work, kNoteName, kMaxNote);
  if (note.ok()) return std::optional(*note);
  if (note.status().code() == Code::kNotFound) return std::optional<std::string>();
  return note.status();
}

Status TakeBackAny(Workspace& workspace) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> work, workspace.environment().work_store(""));
  ASSIGN_OR_RETURN(const std::optional<std::string> work_package, PackageOf(*work));
  if (!work_package) return {};
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenStore(*work_package));
  std::vector<std::string> unreadable;
  ASSIGN_OR_RETURN(std::vector<UnitRecord> records, ReadWorkResults(*store, "", unreadable));
  std::string run;
  if (!records.empty())
    if (const Result<WorkPackage> plan = ReadWorkPackage(*store); plan.ok()) run = plan->run;
  ASSIGN_OR_RETURN(const TakenResults taken,
                   AddTo(workspace, *store, run, std::move(records), std::move(unreadable), *work_package));
  return RemoveResults(*store, taken);
}

}  // namespace pipeline
