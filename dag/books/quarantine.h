// The quarantine: records that a stage dropped or altered, kept for people to look at. Format:
// dag/books/quarantine.md.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "dag/records/batch.h"
#include "storage/store.h"

namespace pipeline {

/// A stage of a segment, at the position that Quarantined::stage names.
struct QuarantineStage {
  std::string stage;
  Digest recipe;
  /// The segment only reads this stage's partitions, and counts it in front of its own stages. The stage's
  /// quarantine belongs to the segment that made those partitions, and stays.
  bool only_read = false;
};

/// "quarantine/clean-0123456789abcdef/0000-00012.jsonl"
std::string QuarantineName(const QuarantineStage& stage, PartitionId id);

/// Writes the records of one partition as they come, one object per stage with records. One thread at a
/// time. If it is destroyed uncommitted, nothing was written.
class QuarantineWriter {
 public:
  /// `work` is the store of the work directory and outlives the writer.
  QuarantineWriter(Store& work, std::vector<QuarantineStage> chain, PartitionId id);

  /// Records of each stage come in the order of their index.
  Status Add(const std::vector<Quarantined>& records);
  /// Called before the partition commits. Replaces the objects of an earlier try: a stage without any
  /// record has no object afterwards, unless it is `only_read`.
  Status Commit();

 private:
  Store* work_;
  std::vector<QuarantineStage> chain_;
  PartitionId id_;
  std::vector<std::unique_ptr<ObjectWriter>> writers_;  // by stage; null before its first record
};

/// Calls `take` for each record of one object, in order, until it fails. `stage` of a record is 0: the
/// object's name tells the stage. A line above 1 MiB is cut off behind its front. kDataLoss: a
/// line cannot be read; the message names object and line.
Status ReadQuarantine(Store& work, std::string_view name,
                      const std::function<Status(const Quarantined&)>& take, std::stop_token stop = {});

/// Returns the first bytes of the record for messages, at most `most`, with `?` for a control character and
/// for invalid UTF-8.
std::string Shown(const Quarantined& record, std::size_t most);

/// Parses one line, without its LF. Absent: the line is invalid.
std::optional<Quarantined> ParseQuarantineLine(std::string_view line);

}  // namespace pipeline
