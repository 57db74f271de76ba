// How much of what a Source took in is at fault, by records and by bytes, and how much of it a message shows.
// Rule: formats/rows.md, "Too many bad rows".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dag/pipeline_file/reason.h"
#include "dag/records/counts.h"
#include "dag/records/source.h"

namespace pipeline {

/// Bytes of one record that a message shows.
inline constexpr std::size_t kShownFaultBytes = 80;
/// Bytes of the records from which FaultBound::advice is made.
inline constexpr std::size_t kFaultSampleBytes = 64 << 10;

class FaultShare {
 public:
  /// `counts` of a Source with these reasons. A record counts as so many as the lines that its
  /// wrong quote took in.
  FaultShare(const FaultBound& bound, const std::vector<Reason>& reasons, const StageCounts& counts);

  bool any() const { return faults_ > 0; }
  /// Number of records, faulty or not.
  std::uint64_t records() const { return records_; }
  /// Returns whether the bound is exceeded by so much that it is an error.
  bool IsBroken() const;
  /// Returns whether so much is at fault that the last lines of a good run tell it.
  bool IsTold() const;
  /// "30 of 100 rows are at fault, more than max_bad_rows (0.01) allows".
  std::string Broken() const;
  /// "; or raise max_bad_rows if so many are right". Empty: all are at fault.
  std::string OrRaise() const;
  /// "2 of 5 rows (40 %) were"
  std::string Told() const;
  /// The reason that counts most. Empty: none counts.
  std::string_view main_reason() const { return main_reason_; }

 private:
  double share() const;
  bool tells_bytes() const;
  std::uint64_t faults() const { return static_cast<std::uint64_t>(faults_ + 0.5); }
  std::string What() const;

  const FaultBound& bound_;
  double faults_ = 0;
  std::uint64_t records_ = 0;
  double of_records_ = 0;
  double of_bytes_ = 0;
  std::string_view main_reason_;
};

}  // namespace pipeline
