// Work results: the lines that workers log, on their way to the run log. Format: dag/package/work_package.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/mutex.h"
#include "base/result.h"
#include "dag/books/run_log.h"
#include "dag/package/work_history.h"
#include "dag/package/work_package.h"
#include "storage/store.h"

namespace pipeline {

/// The newest version of the form of a work result; older ones are read, too.
inline constexpr std::uint32_t kWorkResultVersion = 3;

/// A work result: a line of a worker's log, or the last two about an input.
struct UnitRecord {
  UnitLine line;
  /// The line before that of an end: a partition of the input. Absent: its record is its own, if any.
  std::optional<UnitLine> partition = {};
  Digest lineage = {};  // of the lineage's text
  std::shared_ptr<const std::string> lineage_text =
      {};                            // of its segment, as in SegmentLine; null: not read yet
  std::string who = {};              // the worker, for people; empty: unknown
  std::chrono::milliseconds took{};  // since the unit began; 0: unknown
  std::int64_t began = 0;  // the unit, by the worker's clock, in milliseconds since 1970; 0: unknown
  ObjectInfo object = {};  // from which it was read; without a name: it was not read

  /// Returns its lines in their order, of the segment line `segment`.
  std::vector<UnitLine> LinesIn(std::uint32_t segment) const;
};

/// Returns a record whose lineage is `lineage`.
UnitRecord RecordOf(UnitLine line, std::string lineage);

std::string EncodeUnitRecord(const UnitRecord& record);
/// A record of the first version has its lineage; of later ones, `lineage_text` is null. kDataLoss: it is no
/// record about `unit`.
Result<UnitRecord> ParseUnitRecord(std::string_view text, std::string_view unit);

/// Returns the facts about finished work that the history keeps.
WorkHistory HistoryOf(const std::vector<UnitRecord>& records);

/// Stores the work results of one worker below `location` for the next plan. Safe from any thread.
class ResultWriter {
 public:
  /// `location` outlives the writer. `run`: WorkPackage::run.
  explicit ResultWriter(Store& location, std::string run = {}) : location_(location), run_(std::move(run)) {}

  /// kInternal: a record with the same recipe has other bytes.
  Status Write(const UnitRecord& record);
  /// A unit ended: the history gets its results that another worker had stored before.
  void EndUnit();

 private:
  Status WriteLineage(const UnitRecord& record);

  Store& location_;
  const std::string run_;
  Mutex mutex_;
  std::set<Digest> lineages_ GUARDED_BY(mutex_);  // those that are stored
  WorkHistory again_ GUARDED_BY(mutex_);          // of the unit that runs
};

/// Returns every record below `location` whose unit begins with `prefix`, with its lineage: damaged units
/// first, then finished ones. Adds the names of unreadable records and damaged lineages to `unreadable`.
Result<std::vector<UnitRecord>> ReadWorkResults(Store& location, std::string_view prefix,
                                                std::vector<std::string>& unreadable);

/// Returns what the history will keep of finished units; `objects`: of their records (PackageView::done).
/// Skips records that are gone or unreadable.
Result<WorkHistory> ReadFinished(Store& location, const std::vector<ObjectInfo>& objects,
                                 const std::stop_token& stop);

/// Returns the unit of the record `name`, without prefix and ".json": UNIT, or UNIT.NNNNNNNN, which has the
/// first cuts of an input.
std::string_view UnitOfRecord(std::string_view name);

/// Returns whether `log` lacks anything of `line`. A scan tells its first cuts more than once.
bool TellsMore(const UnitLine& line, const RunLog& log);

/// The work results that are in the log now.
struct TakenResults {
  std::vector<ObjectInfo> objects;      // of all records as they were read, and all unreadable objects
  std::vector<std::string> unreadable;  // their units run again
  std::size_t added = 0;                // records that tell of new work
  /// By stage: how long its units took.
  std::map<std::string, std::vector<std::chrono::milliseconds>, std::less<>> times;
};

/// Adds `records`, as ReadWorkResults gives them, to `log`. Their objects stay until RemoveResults, so that
/// nobody takes their units for undone before there is another plan.
Result<TakenResults> AddResults(std::vector<UnitRecord> records, std::vector<std::string> unreadable,
                                RunLog& log);
/// A record that was replaced since it was read stays, for the next plan.
Status RemoveResults(Store& location, const TakenResults& taken);

/// Updates the pace of stages with new times, and so the seconds that their units take.
void UpdatePace(const TakenResults& taken, WorkPackage& work_package);

/// Tells the next plan that the source at this real path has other bytes than the present one says, and the
/// same size and times.
Status WriteChangedSource(Store& location, const std::string& real_path);
/// Calls `changed` with each such path, and adds its object to `taken`.
Status TakeChangedSources(Store& location, TakenResults& taken,
                          const std::function<void(const std::string& real_path)>& changed);

}  // namespace pipeline
