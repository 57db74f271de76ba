// The history of a run by workers, summed by host. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dag/package/work_history.h"

namespace pipeline {

/// Returns the machine in "vm-2, process 4711".
std::string HostOf(std::string_view who);
/// Returns the stage in "text/0000-00003".
std::string_view StageOfUnit(std::string_view unit);

/// A unit that a worker ran, with everything that it stored on the way.
using UnitTurn = WorkHistory::Entry;

struct HostWork {
  std::string host;
  std::size_t workers = 0;  // that did something
  std::size_t at_once = 0;  // most of them at the same time
  std::size_t units = 0;
  std::int64_t inside_ms = 0;  // time in units, over all workers
  std::int64_t span_ms = 0;    // from the first begin to the last end, by the clock of the host
  std::uint64_t bytes = 0;     // written
  std::size_t twice = 0;       // units with a result that another worker had stored before
  std::size_t lost = 0;        // leases that another worker took over
  double per_minute = 0;       // units, in the last ten minutes of its work
  std::map<std::string, double, std::less<>> stage_per_minute = {};  // the same by stage
};

struct WorkSummary {
  std::vector<UnitTurn> turns;  // by worker and begin
  std::vector<HostWork> hosts;  // by name
};

/// Facts that are there twice count once.
WorkSummary Summarise(const WorkHistory& history);

/// Returns the time in units as a share of the time that the workers had: on each host the most at once, for
/// the longest span of any host. So it needs no common clock. 0: unknown.
double Utilisation(const std::vector<HostWork>& hosts);

}  // namespace pipeline
