// The note of a scan of a text beside its cuts, for the readers of single partitions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/line_rules.h"
#include "formats/member_ends.h"

namespace pipeline {

/// In the run log, so that its form does not change: numbers with a space between them, and "-" for an absent
/// one. The offset, then two numbers for each position, then "cr" for LineEnds::kCr.
struct ScanNote {
  std::optional<std::uint64_t> offset;    // of the first byte that is no ASCII; absent: there is none
  std::vector<StreamPosition> positions;  // by partition: where decoding can begin for the one behind it
  LineEnds ends = LineEnds::kLf;
};

std::string ToString(const ScanNote& note);
/// Reads as much as parses.
ScanNote ParseScanNote(std::string_view text);
/// SourceStage::joined of the cuts that have this note: partitions for which decoding begins at the same
/// place.
std::vector<bool> JoinedPartitions(std::string_view note);

}  // namespace pipeline
