// The needs of the units of a plan: memory, cores, time, bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace pipeline {

struct OfferedUnit;
struct RunState;

/// The needs of one unit. Absent members are unknown.
struct UnitNeeds {
  std::optional<std::uint64_t> memory{};     // bytes, the least; programs that a stage starts aside
  std::optional<std::uint64_t> cores{};      // the least
  std::optional<std::uint64_t> seconds{};    // 95 % of the units of its stage took less
  std::optional<std::uint64_t> bytes_in{};   // to be read, as stored, about
  std::optional<std::uint64_t> bytes_out{};  // to be written, about
  std::optional<std::uint64_t> scratch{};    // bytes that it surely takes in the scratch of its worker
  bool operator==(const UnitNeeds&) const = default;
};

/// The needs of all stages that have not finished, also of units that are not offered yet.
struct StageNeeds {
  std::uint64_t memory = 0;  // bytes, the least for each of their units; Jobs aside
  bool jobs = false;         // some are Jobs
  bool programs = false;     // some start programs, whose memory nobody knows
  bool operator==(const StageNeeds&) const = default;
};

/// Fills in the needs of `units`, except for the time. No unit of `run` runs, and the caller holds its lock.
void FindNeeds(const RunState& run, std::vector<OfferedUnit>& units);
/// The same for all stages of the plan.
StageNeeds NeedsOfStages(const RunState& run);

}  // namespace pipeline
