// Inputs that several processes read at the same time, a partition each: dag/cuts.md.
#pragma once

#include <cstdint>

#include "dag/run/run_state.h"
#include "dag/run/segment_state.h"
#include "dag/run/unit_runner.h"

namespace pipeline {

/// Safe from any thread, as UnitRunner.
class CutInputs {
 public:
  /// Both outlive this object.
  CutInputs(RunState& run, UnitRunner& units) : run_(run), units_(units) {}

  /// Decides which inputs of `state` are cut. Call before any unit runs.
  void Find(SegmentState& state) const;
  /// Scans input `number`; if it cannot be cut, reads it to its end.
  Status Scan(SegmentState& state, std::uint32_t number);
  /// Checks a cut input before its missing partitions are offered. If none is missing, logs its end.
  Status Look(SegmentState& state, std::uint32_t number);
  /// Makes one partition of a cut input; in a worker also those that its unit has besides.
  Status Partition(SegmentState& state, PartitionId id);

 private:
  const SourceFile& FileOf(const SegmentState& state, std::uint32_t number) const;

  RunState& run_;
  UnitRunner& units_;
};

}  // namespace pipeline
