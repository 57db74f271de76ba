// Work packages: a plan for workers, and the work results that they leave. Format:
// dag/package/work_package.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "dag/books/run_log.h"
#include "dag/executor.h"
#include "storage/store.h"

namespace pipeline {

inline constexpr std::string_view kWorkPackageName = "plan.json";

struct WorkPackage {
  /// A local file as `pipe plan` saw it.
  struct File {
    std::string path;
    std::string name;
    std::uint64_t size = 0;
    std::string identity;  // Environment::file_identity
    Digest digest;
    bool operator==(const File&) const = default;
  };

  std::string pipeline;  // the text of the file
  std::string file;      // its name
  std::vector<std::pair<std::string, std::string>> set;
  std::string subset{};  // the value of --subset; empty: not given
  std::string directory;
  std::string work;
  std::string holder{};  // text of the file `holder` in `work`; empty in a plan of an earlier version
  std::string log;       // name of an object
  std::uint64_t group_memory = 0;
  std::vector<File> files;
  std::vector<OfferedUnit> units;
  bool from_log = false;  // --from-log was given
  /// By stage: the time in which 95 % of its units were done. Absent: too few are known.
  std::map<std::string, std::chrono::milliseconds, std::less<>> pace{};
  bool operator==(const WorkPackage&) const = default;
};

std::string EncodeWorkPackage(const WorkPackage& work_package);
/// kFailedPrecondition: a newer program wrote it. kDataLoss: a member is missing or wrong; the message
/// names it.
Result<WorkPackage> ParseWorkPackage(std::string_view text);

Result<WorkPackage> ReadWorkPackage(Store& location);

/// A work result: one line of a worker's log.
struct UnitRecord {
  UnitLine line;
  std::string lineage;               // of its segment, as in SegmentLine
  std::string who{};                 // the worker, for people; empty: unknown
  std::chrono::milliseconds took{};  // since the unit began; 0: unknown
};

std::string EncodeUnitRecord(const UnitRecord& record);
/// kDataLoss: it is no record about `unit`.
Result<UnitRecord> ParseUnitRecord(std::string_view text, std::string_view unit);

/// Stores `record` below `location` for the next `pipe plan`. kInternal: a record with the same recipe has
/// other bytes.
Status StoreWorkResult(Store& location, const UnitRecord& record);

/// Returns every record below `location` whose unit begins with `prefix`: damaged units first, then finished
/// ones. Adds the names of unreadable records to `unreadable`.
Result<std::vector<UnitRecord>> ReadWorkResults(Store& location, std::string_view prefix,
                                                std::vector<std::string>& unreadable);

/// The work results that are in the log now.
struct TakenResults {
  std::vector<std::string> objects;     // of all records, also of unreadable ones
  std::vector<std::string> unreadable;  // objects of records that cannot be read: their units run again
  /// By stage: how long its units took.
  std::map<std::string, std::vector<std::chrono::milliseconds>, std::less<>> times;
};

/// Adds `records`, as ReadWorkResults gives them, to `log`. Their objects stay until RemoveResults, so that
/// nobody takes their units for undone before there is another plan.
Result<TakenResults> AddResults(std::vector<UnitRecord> records, std::vector<std::string> unreadable,
                                RunLog& log);
Status RemoveResults(Store& location, const TakenResults& taken);

/// Updates the pace of stages with new times.
void UpdatePace(const TakenResults& taken, WorkPackage& work_package);

}  // namespace pipeline
