// The history of a run by workers: which worker did which unit, in how much time, and who lost one. It is for
// people: nothing decides by it. Format: dag/package/work_queue.md
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "storage/store.h"

namespace pipeline {

/// Prefix of the objects below the location of a work package; then come the run and a slash.
inline constexpr std::string_view kHistoryPrefix = "history/";

struct WorkHistory {
  static constexpr std::string_view kForm = "pipe_history";

  /// A result of a worker.
  struct Entry {
    std::string unit;
    std::string who;  // the worker: "vm-2, process 4711"; empty: unknown
    std::int64_t began =
        0;  // the unit that it ran then, by its clock, in milliseconds since 1970; 0: unknown
    std::int64_t took_ms = 0;  // from then until it stored the result
    std::uint64_t bytes = 0;   // of the objects that it wrote
    std::uint64_t records = 0;
    auto operator<=>(const Entry&) const = default;
  };
  /// A lease that another worker took over.
  struct Loss {
    std::string unit;        // "-": it planned
    std::string who;         // the worker that gave no sign of life
    std::string by;          // the one that took the lease over
    std::int64_t began = 0;  // of the lease, by the clock of `who`; 0: unknown
    auto operator<=>(const Loss&) const = default;
  };
  std::vector<Entry> results;
  std::vector<Loss> lost;
  bool operator==(const WorkHistory&) const = default;

  bool empty() const { return results.empty() && lost.empty(); }
  void Add(const WorkHistory& more);
};

/// Names and times beyond any real one are cut.
std::string EncodeWorkHistory(const WorkHistory& history);
/// kFailedPrecondition: a newer program wrote it. kDataLoss: a member is missing or wrong.
Result<WorkHistory> ParseWorkHistory(std::string_view text);

/// Stores `history` as an object of the run `run`, named by its bytes: facts that are told again after a
/// crash are the same object. Does nothing if one of them is empty.
Status WriteHistory(Store& package, std::string_view run, const WorkHistory& history);
/// Reads these objects; skips those that are gone, and adds the names of unreadable ones to `unreadable`.
Result<WorkHistory> ReadHistory(Store& package, const std::vector<ObjectInfo>& objects,
                                std::vector<std::string>& unreadable, const std::stop_token& stop);
/// Removes the objects of all runs but `run`.
Status RemoveOtherHistory(Store& package, std::string_view run);

/// Returns the machine in "vm-2, process 4711".
std::string HostOf(std::string_view who);
/// Returns the stage in "text/0000-00003".
std::string_view StageOfUnit(std::string_view unit);

// The history, summed by host. Pure functions.

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
