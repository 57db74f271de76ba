// Which partitions of a segment stand: what the log says, held against what lies in the directory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "dag/run_log.h"
#include "records/piece.h"
#include "storage/store.h"

namespace pipeline {

/// The partitions of one input.
struct InputPieces {
  struct Standing {
    Piece piece;
    PartitionEnd end;
  };
  std::optional<InputEnd> end;                 // absent until the input was read to its end
  std::map<std::uint32_t, Standing> standing;  // by partition

  bool complete() const { return end && standing.size() >= end->partitions; }
  /// The highest partition that is missing, where the end is known; absent when none is.
  std::optional<std::uint32_t> last_missing() const;
};

/// What to look for.
struct PieceKeys {
  std::string stage;  // the segment's last
  Digest recipe;      // of that stage's pieces
  /// The Source and all stages down to `stage`: any of them may have logged the end of an input.
  std::vector<std::string> end_stages;
  std::vector<Digest> end_recipes;  // one per input
  struct Counted {
    std::string stage;
    Digest recipe;  // of the partition files that it leaves
  };
  /// The stages that count a piece: the one that cut the partitions, and all down to the last.
  std::vector<Counted> line;
  /// The pieces that each Gather stage further up the line took in, first to last; their own are empty.
  std::vector<PieceKeys> gathered;
};

/// The line about the end of `input`; null where it was never read to its end.
const UnitLine* FindEnd(const RunLog& log, const PieceKeys& keys, std::uint32_t input);

/// One thread at a time.
class Pieces {
 public:
  /// Everything that `log` has for `keys`, with all the counts that belong to it, and whose objects lie in
  /// `directory` with the right size.
  static Result<Pieces> Load(const RunLog& log, const PieceKeys& keys, Store& directory);

  std::vector<InputPieces>& inputs() { return inputs_; }
  const std::vector<InputPieces>& inputs() const { return inputs_; }
  /// False for a stage whose inputs are not known.
  bool complete() const;
  /// Every piece, by partition.
  std::vector<Piece> all() const;
  /// How many the log names whose objects are gone or have another size.
  std::size_t missing_objects() const { return missing_objects_; }
  /// Units whose lines the log has lost: pieces that lie there do not stand for want of their counts.
  const std::vector<std::string>& lost() const { return lost_; }
  /// True where all are there but for counts.
  bool all_lie_there() const { return all_lie_there_; }

 private:
  void DropUncounted(const RunLog& log, const PieceKeys& keys);

  std::vector<InputPieces> inputs_;
  std::size_t missing_objects_ = 0;
  std::vector<std::string> lost_;
  bool all_lie_there_ = false;
};

}  // namespace pipeline
