// What the first pass leaves of a partition: the objects that hold it, their names, and which partition a
// damaged one belongs to.
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

/// What a committed partition left behind, for its log line.
struct PartitionOutput {
  Digest digest;  // over the records, whatever the framing on disk
  std::vector<StoredObject> objects;
  /// What its Sink counted, for the counts of the Sink's stage.
  std::map<std::string, std::uint64_t, std::less<>> reasons = {};
};

/// A piece that the first pass left: a logged partition.
struct Piece {
  PartitionId id;
  PartitionOutput output;
  std::map<std::string, ArtifactTotals::Split, std::less<>> splits;
};

/// "IIII-PPPPP" and `suffix`: PieceName({0, 12}, ".part") is "0000-00012.part".
std::string PieceName(PartitionId id, std::string_view suffix);

/// The partition that `object` was named after by PieceName; absent for any other name.
std::optional<PartitionId> ParsePieceName(std::string_view object);

/// A piece that was read is missing or damaged, and must be made again.
struct DamagedPieceFact final : StatusDetail {
  DamagedPieceFact(std::string stage_name, PartitionId partition, std::string words)
      : stage(std::move(stage_name)), id(partition), why(std::move(words)) {}
  std::string stage;  // whose piece it is; empty where only one stage can be meant
  PartitionId id;
  std::string why;  // for people, without the name of the object
};

/// `why` with the object in front. A kDataLoss or kNotFound of an object that PieceName named says from here
/// on that the piece is damaged.
Status PieceError(std::string_view object, Status why);

/// The partition that must be made again because of `status`, as PieceError found it. Absent where the
/// failure is another.
std::optional<PartitionId> DamagedPiece(const Status& status);

/// A piece among those of several stages.
struct PieceOf {
  std::string stage;
  PartitionId id;
};

/// `why`, for which DamagedPiece may have an answer, with the stage in front whose pieces were read.
Status PieceErrorOf(std::string_view stage, Status why);

/// As DamagedPiece, of what PieceErrorOf gave.
std::optional<PieceOf> DamagedPieceOf(const Status& status);

}  // namespace pipeline
