// Records that a stage dropped or altered, kept for people to look at. Format: dag/quarantine.md.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "dag/batch.h"
#include "storage/store.h"

namespace pipeline {

/// A stage of a segment, at the position that Quarantined::stage names.
struct QuarantineStage {
  std::string stage;
  Digest recipe;
};

/// "quarantine/clean-0123456789abcdef/0000-00012.jsonl"
std::string QuarantineName(const QuarantineStage& stage, PartitionId id);

/// Writes the records of one partition, an object per stage that has some, in place of what an earlier
/// try left; a stage without any has no object afterwards. Called before the partition commits.
/// `work` is the store of the work directory.
Status WriteQuarantine(Store& work, const std::vector<QuarantineStage>& chain, PartitionId id,
                       std::vector<Quarantined> records);

/// Calls `take` for each record of one object, in order, until it fails. `stage` of a record is 0: the
/// object's name tells it. kDataLoss naming object and line where one cannot be read.
Status ReadQuarantine(Store& work, std::string_view name,
                      const std::function<Status(const Quarantined&)>& take, std::stop_token stop = {});

/// One line, without its LF; absent where it is not one.
std::optional<Quarantined> ParseQuarantineLine(std::string_view line);

}  // namespace pipeline
