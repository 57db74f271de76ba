// Names of the objects that hold a partition, and which partition a damaged one belongs to.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "dag/batch.h"

namespace pipeline {

/// "IIII-PPPPP" and `suffix`: PieceName({0, 12}, ".part") is "0000-00012.part".
std::string PieceName(PartitionId id, std::string_view suffix);

/// The partition that `object` was named after by PieceName; absent for any other name.
std::optional<PartitionId> ParsePieceName(std::string_view object);

/// `why` with the object in front, where DamagedPiece finds it.
Status PieceError(std::string_view object, Status why);

/// The partition that must be made again because of `status`: what PieceError put in front of a
/// kDataLoss, or of a kNotFound. Absent where the failure is another.
std::optional<PartitionId> DamagedPiece(const Status& status);

}  // namespace pipeline
