// The lines that a unit of the first pass logs beside those of its partitions, and the check of their counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "dag/books/run_log.h"
#include "dag/records/source.h"
#include "dag/segment_unit.h"

namespace pipeline {

/// Fails if the stage at this position of the chain counted a reason that its type does not declare.
Status CheckDeclared(const SegmentScope& scope, std::size_t stage, const StageCounts& counts);

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
