// Compares the needs of a unit with a worker.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dag/run/unit_needs.h"

namespace pipeline {

/// The room that a worker has for one unit. Absent members are unknown, and every unit fits them.
struct WorkerRoom {
  std::optional<std::uint64_t> memory{};  // bytes
  std::optional<std::uint64_t> cores{};
  std::optional<std::uint64_t> scratch{};  // bytes
  std::string memory_by{};                 // for messages: the name of this bound, such as "--memory"
  std::string scratch_in{};                // for messages: the directory
};

/// Returns why a unit with these needs does not fit: "needs 3.10 GiB of memory, and this worker has 2.00 GiB
/// (--memory)". Empty: it fits, as far as its needs are known.
std::string WhyUnfit(const UnitNeeds& needs, const WorkerRoom& room);

}  // namespace pipeline
