// Finds the log lines that hold the counts of a partition, and those that the log has lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dag/books/lineage.h"
#include "dag/books/run_log.h"
#include "dag/plan/partition_outputs.h"
#include "dag/records/batch.h"
#include "dag/records/counts.h"

namespace pipeline {

/// Looks up counts in one log, which outlives it. One thread at a time.
class PartitionCounts {
 public:
  using ByStage = std::map<std::string, StageCounts, std::less<>>;  // by the present names of the stages

  using Documents = std::map<std::string, std::uint64_t, std::less<>>;  // in the inputs of each stage

  explicit PartitionCounts(const RunLog& log) : log_(log) {}

  /// Returns the unit whose lost line makes the counts of partition `id` incomplete; empty: none is lost.
  std::string Lost(const OutputKeys& keys, PartitionId id) { return Walk(keys, id, nullptr); }
  /// Adds the counts of the partition in every stage, from the stage that cut it on, and returns the same
  /// as Lost. The segment that ran a stage counts it, even if a partition file follows the stage: a segment
  /// that only reads the file sees none of the records that the stage dropped.
  std::string Add(const OutputKeys& keys, PartitionId id, ByStage& all) { return Walk(keys, id, &all); }

  /// Does the same for all partitions of a stage and for counts outside of any partition. Returns every
  /// unit whose line is lost. `all`: null if only these units are wanted.
  std::vector<std::string> AddAll(const OutputKeys& keys, ByStage* all, Documents* documents = nullptr);
  /// Adds the counts outside of any partition, and the documents of each input.
  std::vector<std::string> AddEnds(const OutputKeys& keys, ByStage* all,
                                   Documents* documents = nullptr) const;

  /// Changes the stage names in `line`, which was written under other names, to those of `now`.
  void Rename(const Lineage& now, UnitLine& line);

 private:
  std::string Walk(const OutputKeys& keys, PartitionId id, ByStage* all);
  /// Returns the position in keys.line where the complete counts of `line` begin, up to `last`;
  /// keys.line.size(): some are missing. `names`: of those stages when the line was written.
  std::size_t WholeFrom(const OutputKeys& keys, std::size_t last, PartitionId id, const UnitLine& line,
                        const std::vector<std::string>& names) const;
  /// Returns the names of the stages of a segment line, first to last; empty: the line was damaged.
  const std::vector<std::string>& NamesIn(std::uint32_t segment);

  const RunLog& log_;
  std::map<std::uint32_t, std::vector<std::string>> names_;  // by segment line
};

}  // namespace pipeline
