// A plan that is handed out to workers, and what they hand back. Format: dag/hand_out.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "dag/executor.h"
#include "dag/run_log.h"
#include "storage/store.h"

namespace pipeline {

inline constexpr std::string_view kHandOutName = "plan.json";

struct HandOut {
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
  std::string subset{};  // what --subset gave; empty: the whole
  std::string directory;
  std::string work;
  std::string holder{};  // what the file of that name in `work` says; empty in a plan of an earlier version
  std::string log;       // object
  std::uint64_t group_memory = 0;
  std::vector<File> files;
  std::vector<OfferedUnit> units;
  bool operator==(const HandOut&) const = default;
};

std::string EncodeHandOut(const HandOut& hand_out);
/// kFailedPrecondition where a newer program wrote it; kDataLoss naming the member that is missing or wrong.
Result<HandOut> ParseHandOut(std::string_view text);

Result<HandOut> ReadHandOut(Store& place);

/// What a worker did, as one line of its log.
struct UnitRecord {
  UnitLine line;
  std::string lineage;  // of its segment, as SegmentLine has it
};

std::string EncodeUnitRecord(const UnitRecord& record);
/// kDataLoss where it is none about `unit`.
Result<UnitRecord> ParseUnitRecord(std::string_view text, std::string_view unit);

/// Leaves `record` below `place` for the next `pipe plan`. kInternal where one of the same recipe tells of
/// other bytes.
Status HandBack(Store& place, const UnitRecord& record);

/// Every record below `place` whose unit begins with `prefix`: damage first, then what is done. What cannot
/// be read is told to `unreadable`.
Result<std::vector<UnitRecord>> HandedBack(Store& place, std::string_view prefix,
                                           std::vector<std::string>& unreadable);

/// Adds every record below `place` to `log`, then removes it; returns how many. Records that cannot be read
/// are removed as well, and told to `unreadable`.
Result<std::size_t> TakeBack(Store& place, RunLog& log, std::vector<std::string>& unreadable);

}  // namespace pipeline
