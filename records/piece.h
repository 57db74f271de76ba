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
#include "records/batch.h"
#include "records/counts.h"
#include "records/stored_object.h"

namespace pipeline {

/// Result of a committed partition, for its log line.
struct PartitionOutput {
  Digest digest;  // of the records, independent of the framing on disk
  std::vector<StoredObject> objects;
  /// Counts of its Sink, for the counts of the Sink's stage.
  std::map<std::string, std::uint64_t, std::less<>> reasons = {};
};

/// A partition output of the first pass, with its log line.
struct Piece {
  PartitionId id;
  PartitionOutput output;
  std::map<std::string, ArtifactTotals::Split, std::less<>> splits;
};

/// Returns "IIII-PPPPP" and `suffix`: PieceName({0, 12}, ".part") is "0000-00012.part".
std::string PieceName(PartitionId id, std::string_view suffix);

/// Returns the partition in an object name from PieceName; absent: any other name.
std::optional<PartitionId> ParsePieceName(std::string_view object);

/// A partition output that was read is missing or damaged, and must be made again.
struct DamagedPieceFact final : StatusDetail {
  DamagedPieceFact(std::string stage_name, PartitionId partition, std::string words)
      : stage(std::move(stage_name)), id(partition), why(std::move(words)) {}
  std::string stage;  // stage of the partition output; empty: only one stage is possible
  PartitionId id;
  std::string why;  // for people, without the name of the object
};

/// Puts `object` in front of `why`. If PieceName made the name `object`, kDataLoss and kNotFound also get a
/// DamagedPieceFact.
Status PieceError(std::string_view object, Status why);

/// Returns the partition that must be made again because of `status`, which comes from PieceError. Absent:
/// another failure.
std::optional<PartitionId> DamagedPiece(const Status& status);

/// A partition output among those of several stages.
struct PieceOf {
  std::string stage;
  PartitionId id;
};

/// Puts `stage`, whose partition outputs were read, in front of `why`, and into its DamagedPieceFact.
Status PieceErrorOf(std::string_view stage, Status why);

/// As DamagedPiece, for a status from PieceErrorOf.
std::optional<PieceOf> DamagedPieceOf(const Status& status);

}  // namespace pipeline
