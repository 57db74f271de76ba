// Partition outputs of the first pass: their objects and names, and the partition of a damaged one.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/status.h"
#include "dag/records/batch.h"
#include "dag/records/counts.h"
#include "dag/records/stored_object.h"

namespace pipeline {

/// Result of a committed partition, for its log line.
struct CommittedPartition {
  Digest digest;  // of the records, independent of the framing on disk
  std::vector<StoredObject> objects;
  /// Counts of its Sink, for the counts of the Sink's stage.
  std::map<std::string, std::uint64_t, std::less<>> reasons = {};
};

/// A partition output of the first pass, with its log line.
struct PartitionOutput {
  PartitionId id;
  CommittedPartition committed;
  std::map<std::string, ArtifactTotals::Split, std::less<>> splits;
};

/// "0003-00012". Numbers with more digits are written whole.
std::string PartitionName(PartitionId id);
/// Absent: PartitionName never returns exactly this `name`.
std::optional<PartitionId> ParsePartitionName(std::string_view name);

/// Returns PartitionName and `suffix`, which begins with a dot: OutputName({0, 12}, ".part") is
/// "0000-00012.part".
std::string OutputName(PartitionId id, std::string_view suffix);

/// Returns the partition in an object name from OutputName; absent: any other name.
std::optional<PartitionId> ParseOutputName(std::string_view object);

/// A partition output that was read is missing or damaged, and must be made again.
struct DamagedOutputDetail final : StatusDetail {
  DamagedOutputDetail(std::string stage_name, PartitionId partition, std::string words)
      : stage(std::move(stage_name)), id(partition), why(std::move(words)) {}
  std::string stage;  // stage of the partition output; empty: only one stage is possible
  PartitionId id;
  std::string why;  // for people, without the name of the object
};

/// Puts `object` in front of `why`. If OutputName made the name `object`, kDataLoss and kNotFound also get a
/// DamagedOutputDetail.
Status OutputError(std::string_view object, Status why);

/// Returns the partition that must be made again because of `status`, which comes from OutputError. Absent:
/// another failure.
std::optional<PartitionId> DamagedOutput(const Status& status);

/// A partition output among those of several stages.
struct OutputOf {
  std::string stage;
  PartitionId id;
};

/// Puts `stage`, whose partition outputs were read, in front of `why`, and into its DamagedOutputDetail.
Status OutputErrorOf(std::string_view stage, Status why);

/// As DamagedOutput, for a status from OutputErrorOf.
std::optional<OutputOf> DamagedOutputOf(const Status& status);

}  // namespace pipeline
