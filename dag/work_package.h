// Work packages: a plan for workers, and the work results that they leave. Format: dag/work_package.md.
#pragma once

#include <cstdint>
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
  std::string lineage;  // of its segment, as in SegmentLine
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

/// Adds every record below `location` to `log`, then removes it; returns their number. Removes unreadable
/// records too, and adds their names to `unreadable`.
Result<std::size_t> TakeBack(Store& location, RunLog& log, std::vector<std::string>& unreadable);

}  // namespace pipeline
