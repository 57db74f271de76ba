// The log lines that hold the counts of a partition, and those of them that the log has lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dag/lineage.h"
#include "dag/pieces.h"
#include "dag/run_log.h"
#include "records/batch.h"
#include "records/counts.h"

namespace pipeline {

/// Looks up counts in one log, which outlives it. One thread at a time.
class PartitionCounts {
 public:
  using ByStage = std::map<std::string, StageCounts, std::less<>>;  // by the names that stages have now

  using Documents = std::map<std::string, std::uint64_t, std::less<>>;  // that a stage found in its inputs

  explicit PartitionCounts(const RunLog& log) : log_(log) {}

  /// The unit whose line whole counts of partition `id` need and which is not there; empty where none is
  /// lost.
  std::string Lost(const PieceKeys& keys, PartitionId id) { return Walk(keys, id, nullptr); }
  /// Adds what every stage counted of the partition, from the one that cut it on, and returns what Lost does.
  /// The segment that ran a stage counts it, also where a partition file lies behind the stage: a segment
  /// that only reads the file sees none of the records that the stage dropped.
  std::string Add(const PieceKeys& keys, PartitionId id, ByStage& all) { return Walk(keys, id, &all); }

  /// The same for all partitions of a stage and what lies outside of any; every unit whose line is lost.
  /// `all`: null where only these are wanted.
  std::vector<std::string> AddAll(const PieceKeys& keys, ByStage* all, Documents* documents = nullptr);
  /// Adds what lies outside of any partition, and the documents of each input.
  std::vector<std::string> AddEnds(const PieceKeys& keys, ByStage* all, Documents* documents = nullptr) const;

  /// Gives `line`, which was written for other names of the same stages, the names of `now`.
  void Rename(const Lineage& now, UnitLine& line);

 private:
  std::string Walk(const PieceKeys& keys, PartitionId id, ByStage* all);
  /// The place in keys.line where the whole counts of `line` begin, up to `last`; keys.line.size() where it
  /// lacks some. `names`: of those stages when it was written.
  std::size_t WholeFrom(const PieceKeys& keys, std::size_t last, PartitionId id, const UnitLine& line,
                        const std::vector<std::string>& names) const;
  /// The names of the stages of a segment line, first to last; empty where it was damaged.
  const std::vector<std::string>& NamesIn(std::uint32_t segment);

  const RunLog& log_;
  std::map<std::uint32_t, std::vector<std::string>> names_;  // by segment line
};

}  // namespace pipeline
