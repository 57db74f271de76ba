// The lines that a unit of the first pass logs beside those of its partitions, the place of a record that is
// at fault, and the check of their counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "dag/books/run_log.h"
#include "dag/records/source.h"
#include "dag/run/segment_unit.h"

namespace pipeline {

/// Fails if the stage at this position of the chain counted a reason that its type does not declare.
Status CheckDeclared(const SegmentScope& scope, std::size_t stage, const StageCounts& counts);

/// Returns "record 7 of partition 3 (from 0)".
std::string NumberOf(PartitionId id, std::uint64_t index);

/// Returns "line 12", the line of the file at which record `index` of the partition begins. Opens and reads
/// the file from its front. Where its Source cannot find the line: "row 11 (from 0)" if records are rows,
/// else NumberOf.
std::string PlaceOf(const SegmentScope& scope, const SourceFile& file, PartitionId id, std::uint64_t index,
                    const std::stop_token& stop);

/// Logs and reports the failure of a partition; returns an error if it stops the unit.
Status LogFailure(const SegmentScope& scope, const UnitEvents& events, const std::string& unit,
                  PartitionId id, const Status& why, std::uint64_t index);

/// Returns the line about the end of input `input`.
Result<UnitLine> EndLine(const SegmentScope& scope, std::uint32_t input, const InputEnd& end);

/// Returns the line about its cuts.
Result<UnitLine> CutsLine(const SegmentScope& scope, std::uint32_t input, const InputCuts& cuts);

/// Ends the recorded failure of an input that was read now: its end line is logged again; if there is none, a
/// void line.
Status ForgetFailure(RunLog& log, const std::string& unit);

/// Reuses the partition output of an earlier run that has the content key of this run, although its recipe
/// may be another one. False: there is none.
Result<bool> ReuseOutput(const UnitContext& unit, PartitionId id, const Digest& content);

}  // namespace pipeline
