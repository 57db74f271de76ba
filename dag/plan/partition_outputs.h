// Finds the partition outputs of a segment that exist: the log has them, and their objects are in the
// directory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "dag/books/run_log.h"
#include "dag/records/partition_output.h"
#include "dag/records/source.h"
#include "storage/store.h"

namespace pipeline {

/// The partitions of one input.
struct OutputsOfInput {
  struct Existing {
    PartitionOutput output;
    PartitionEnd end;
  };
  std::optional<InputEnd> end;                 // absent until the input was read to its end
  std::shared_ptr<const InputCuts> cuts;       // null: unknown
  std::map<std::uint32_t, Existing> existing;  // by partition
  std::vector<bool> joined;                    // SourceStage::joined of the cuts, or empty

  bool complete() const { return end && existing.size() >= end->partitions; }
  /// Returns the highest missing partition. Absent: none is missing, or the end is unknown.
  std::optional<std::uint32_t> last_missing() const;
  /// Returns whether the missing partition of a cut input is the first of its unit, and the cuts have all of
  /// that unit's.
  bool BeginsUnit(std::uint32_t partition) const;
  /// Returns the last missing partition of the unit that begins with `partition`.
  std::uint32_t LastOfUnit(std::uint32_t partition) const;
};

/// The keys by which PartitionOutputs finds partition outputs.
struct OutputKeys {
  std::string stage;  // the segment's last
  Digest recipe;      // of that stage's partition outputs
  /// The Source and all stages up to `stage`: any of them may have logged the end of an input.
  std::vector<std::string> end_stages;
  std::vector<Digest> end_recipes;  // one per input
  struct Counted {
    std::string stage;
    Digest recipe;  // of its partition files
  };
  /// The stages that count a partition: the one that cut it, and all up to the last.
  std::vector<Counted> line;
  /// The partition outputs that each barrier stage upstream took in, first to last; their own `barriers` is
  /// empty.
  std::vector<OutputKeys> barriers;
};

/// Returns the line about the end of `input`. Null: it was never read to its end.
const UnitLine* FindEnd(const RunLog& log, const OutputKeys& keys, std::uint32_t input);

/// Returns the cuts of `input` that `log` has. Null: it has none.
std::shared_ptr<const InputCuts> FindCuts(const RunLog& log, const OutputKeys& keys, std::uint32_t input);

/// One thread at a time.
class PartitionOutputs {
 public:
  /// Returns every partition that `log` has for `keys`, if it has all its counts and its objects are in
  /// `directory` with the right size.
  static Result<PartitionOutputs> Load(const RunLog& log, const OutputKeys& keys, Store& directory);

  std::vector<OutputsOfInput>& inputs() { return inputs_; }
  const std::vector<OutputsOfInput>& inputs() const { return inputs_; }
  /// False if the inputs of the stage are unknown.
  bool complete() const;
  /// Every partition output, by partition.
  std::vector<PartitionOutput> all() const;
  /// Number of logged partitions whose objects are gone or have another size.
  std::size_t missing_objects() const { return missing_objects_; }
  /// Units whose lines the log has lost. Without their counts the partition outputs on disk do not count as
  /// existing.
  const std::vector<std::string>& lost() const { return lost_; }
  /// True if all are on disk, even if counts are lost.
  bool all_lie_there() const { return all_lie_there_; }

 private:
  void DropUncounted(const RunLog& log, const OutputKeys& keys);

  std::vector<OutputsOfInput> inputs_;
  std::size_t missing_objects_ = 0;
  std::vector<std::string> lost_;
  bool all_lie_there_ = false;
};

}  // namespace pipeline
