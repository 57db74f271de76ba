// Whether an input keeps to the bounds on records at fault that its Source has: formats/rows.md says the
// rule.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "dag/segment_unit.h"
#include "records/source.h"
#include "spec/reason.h"

namespace pipeline {

/// "30 of 100 rows are at fault, more than max_bad_rows (0.01) allows" of what `counts` say of a Source with
/// these reasons; empty where they keep to the bound.
std::string BrokenBound(const FaultBound& bound, const std::vector<Reason>& reasons,
                        const StageCounts& counts);

/// Adds up the counts of one input's partitions in their order, so that the verdict is the same however often
/// the run was stopped. One thread at a time.
class InputVerdict {
 public:
  /// The verdict on input `number` of a segment with a Source, whose file is called `file`; `standing` are
  /// the partitions of it that the log has. All are borrowed.
  InputVerdict(const SegmentScope& scope, std::uint32_t number, const std::string& file,
               const InputPieces& standing);

  /// On those partitions, before anything is read. As the others, kDataLoss where a bound is broken.
  Status Begin();
  /// A partition was committed, and the Source counted that.
  Status Take(std::uint32_t partition, const StageCounts& counts);
  /// The input has so many partitions. OK where one of them failed: then nobody knows.
  Status End(std::uint32_t partitions);

 private:
  Status Advance();
  Status Judge(std::uint64_t least_records);
  /// "; the first is …; mend it", as far as the quarantine says it. The first is in that partition, counted
  /// from 1.
  std::string FirstFault(const FaultBound& bound, std::uint32_t partition) const;

  const SegmentScope& scope_;
  const std::uint32_t number_;
  const std::string& file_;
  const InputPieces& standing_;
  const std::vector<FaultBound> bounds_;
  const std::vector<Reason>& reasons_;
  std::map<std::uint32_t, StageCounts> ahead_;  // of partitions behind one that is not there yet
  std::uint32_t next_ = 0;                      // the first partition that is not in sum_
  StageCounts sum_;
  std::vector<std::uint32_t> first_;  // by bound: the first partition with a fault, from 1; 0: none
};

}  // namespace pipeline
