// The names of units. A unit is the least that is scheduled, retried, resumed and logged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "dag/records/partition_output.h"

namespace pipeline {

/// A whole input, read front to back: `STAGE/IIII-*`.
struct StreamId {
  std::uint32_t input = 0;
  auto operator<=>(const StreamId&) const = default;
};
/// A Job: `STAGE/-`.
struct JobId {
  auto operator<=>(const JobId&) const = default;
};
/// A shard of a published artifact: `STAGE/SPLIT.sNNNNN-of-NNNNN`.
struct ShardId {
  std::string split;
  std::uint32_t number = 0;
  std::uint32_t count = 0;
  auto operator<=>(const ShardId&) const = default;
};

/// `stage` is the last of the unit's segment. A PartitionId alone is `STAGE/IIII-PPPPP`.
struct UnitId {
  std::string stage;
  std::variant<PartitionId, StreamId, JobId, ShardId> part;
  auto operator<=>(const UnitId&) const = default;
};

std::string ToString(const UnitId& unit);
/// Absent: ToString never returns exactly this `text`.
std::optional<UnitId> ParseUnitId(std::string_view text);

/// For people: `why`, which begins with the place of the fault, and `unit` behind it. An empty `unit` adds
/// nothing.
std::string WithUnit(std::string_view why, std::string_view unit);

/// Returns a line for each reason, in the order of its first unit, with all its units behind it: two units
/// fail for one reason if both read a stage whose counts are refused. Each element: why, unit.
std::vector<std::string> LinesByReason(
    const std::vector<std::pair<std::string_view, std::string_view>>& failures);

inline std::string_view ReasonText(const std::string& why) { return why; }
inline std::string_view ReasonText(const Status& why) { return why.message(); }

/// The same for any list of failures {unit, why}.
template <class Failures>
std::vector<std::string> FailureLines(const Failures& failures) {
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
  pairs.reserve(failures.size());
  for (const auto& [unit, why] : failures) pairs.emplace_back(ReasonText(why), unit);
  return LinesByReason(pairs);
}

}  // namespace pipeline
