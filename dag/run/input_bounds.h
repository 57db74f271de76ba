// Checks an input against its Source's bounds on faulty records. Rule: formats/rows.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "dag/pipeline_file/reason.h"
#include "dag/records/source.h"
#include "dag/run/fault_share.h"
#include "dag/run/segment_unit.h"

namespace pipeline {

/// Adds up the counts of one input's partitions in their order, so that the result is the same however
/// often the run was stopped. One thread at a time.
class InputBounds {
 public:
  /// Checks input `number` of a segment with a Source, which is `file`; `made` has its partitions in the log.
  /// All arguments are borrowed.
  InputBounds(const SegmentScope& scope, std::uint32_t number, const SourceFile& file,
              const OutputsOfInput& made);

  /// Returns whether the Source gives any bound.
  bool any() const { return !bounds_.empty(); }
  /// Checks the partitions in the log, before anything is read. Like Take and End, it returns kDataLoss if
  /// a bound is broken.
  Status Begin();
  /// Adds a committed partition with its counts of the Source.
  Status Take(std::uint32_t partition, const StageCounts& counts);
  /// Ends an input that has this many partitions. OK if one of them failed, because the sums are then
  /// incomplete.
  Status End(std::uint32_t partitions);

 private:
  Status Advance();
  /// `lacking`: also the bounds on records that lack something.
  Status Check(std::uint64_t least_records, bool lacking = true);
  /// Checks SourceStage::needed().
  Status CheckColumns() const;
  /// Returns "; the first is …; mend it; all are in …", as far as the quarantine has it. The first fault is
  /// in `partition`, counted from 1; 0: there is none. The remedy is that of the main reason of `share`.
  std::string FirstFault(const FaultBound& bound, std::uint32_t partition, const FaultShare& share) const;

  const SegmentScope& scope_;
  const std::uint32_t number_;
  const SourceFile& file_;
  const OutputsOfInput& made_;
  const std::vector<FaultBound> bounds_;
  const std::vector<Reason>& reasons_;
  std::map<std::uint32_t, StageCounts> ahead_;  // of partitions after one that is still missing
  std::uint32_t next_ = 0;                      // the first partition that is not in sum_
  StageCounts sum_;
  std::vector<std::uint32_t> first_;  // by bound: the first partition with a fault, from 1; 0: none
};

/// Tells for the last lines of a run how much of the `files` of a segment was left out or damaged, as far as
/// it was read to the ends: "few.csv: 2 of 5 rows (40 %) were left out: dropped_quotes (…); they are in DIR".
/// Empty: little or nothing.
std::vector<std::string> TellFaults(const SegmentScope& scope, const std::vector<SourceFile>& files);

}  // namespace pipeline
