#include "cli/submission/submission_watch.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "base/wait.h"
#include "dag/package/unit_lease.h"

namespace pipeline {

namespace {

constexpr std::chrono::milliseconds kLeastWait{500}, kMostWait{5'000}, kBetweenLines{10'000},
    kMostWaitForWorkers{30'000};
// The watch takes 1/200 of the time, 1/100 if a look takes long; a minute also after a look at a server that
// hardly answers.
constexpr int kShare = 200;
constexpr std::chrono::milliseconds kLongestWait{60'000};
constexpr int kLooksAfterEnd =
    4;  // at a work package whose workers have ended: the last one may have written the end
constexpr std::size_t kMostHosts = 8;  // that a line names

/// Returns the machine in "vm-2, process 4711".
std::string HostOf(std::string_view who) { return std::string(who.substr(0, who.find(','))); }

/// Reads the leases that it has not read before.
class Holders {
 public:
  explicit Holders(Store& package) : package_(package) {}

  /// Returns the number of running units by host.
  std::map<std::string, int> Count(const PackageView& view, const std::stop_token& stop) {
    std::map<std::string, int> hosts;
    std::map<std::string, std::pair<std::string, std::string>> now;  // by lease: version, host
    for (const std::string& name : view.RunningLeases()) {
      if (name == kPlanningLease) continue;
      const ObjectInfo& lease = view.leases.at(name);
      const auto before = known_.find(name);
      std::pair<std::string, std::string> seen;
      if (before != known_.end() && before->second.first == lease.version) {
        seen = before->second;
      } else {
        const Result<SeenUnitLease> lease_seen = ReadUnitLease(package_, name, stop);
        seen = {lease.version, lease_seen.ok() ? HostOf(lease_seen->who) : "?"};
      }
      ++hosts[seen.second];
      now.emplace(name, std::move(seen));
    }
    known_ = std::move(now);
    return hosts;
  }

 private:
  Store& package_;
  std::map<std::string, std::pair<std::string, std::string>> known_;
};

std::string Describe(const PackageView& view, const std::map<std::string, int>& hosts) {
  std::size_t done = 0, given_up = 0;
  for (const OfferedUnit& unit : view.package->units) {
    if (view.done.contains(unit.unit)) ++done;
    if (view.GaveUp(unit.unit)) ++given_up;
  }
  int running = 0;
  std::string where;
  std::size_t named = 0;
  for (const auto& [host, units] : hosts) {
    running += units;
    if (++named <= kMostHosts) where += StrCat(where.empty() ? "" : ", ", host, ": ", units);
  }
  if (named > kMostHosts) where += StrCat(", and ", named - kMostHosts, " more hosts");
  std::string line =
      StrCat(view.package->units.size(), " units offered, ", done, " of them done, ", running, " running");
  if (!where.empty()) line += StrCat(" (", where, ")");
  if (given_up > 0) line += StrCat(", ", given_up, " given up");
  if (view.leases.contains(kPlanningLease)) line += ", a worker plans";
  return line;
}

/// Tells each failed attempt once.
void TellAttempts(const PackageView& view, std::map<std::string, std::size_t>& told) {
  for (const auto& [unit, attempts] : view.failed)
    for (std::size_t& at = told[unit]; at < attempts.attempts.size(); ++at) {
      const UnitAttempts::Attempt& attempt = attempts.attempts[at];
      LogWarning(StrCat(unit, ": attempt ", at + 1, " failed (", attempt.who, "): ", attempt.why));
    }
}

}  // namespace

void WaitForWorkers(Engine& engine, const Submission& submission, const std::stop_token& stop) {
  for (std::chrono::milliseconds waited{0}; waited < kMostWaitForWorkers; waited += kLeastWait) {
    const Result<EngineState> state = engine.State(submission.job, stop);
    if (!state.ok() || state->over || !WaitFor(kLeastWait, stop)) return;
  }
}

Result<WatchOutcome> WatchRun(Store& package, Engine& engine, const Submission& submission,
                              const std::stop_token& stop) {
  using Time = std::chrono::steady_clock;
  Holders holders(package);
  std::optional<PackageView> view;
  std::string last;
  std::map<std::string, std::size_t> told;
  Time::time_point next_line = Time::now();
  int looks_after_end = 0;
  for (;;) {
    const Time::time_point begun = Time::now();
    Result<PackageView> seen = LookAt(package, view ? &*view : nullptr, SystemClock(), stop);
    if (!seen.ok() && seen.status().code() != Code::kUnavailable) return std::move(seen).status();
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Time::now() - begun);
    if (seen.ok()) {
      view = std::move(*seen);
      TellAttempts(*view, told);
      if (view->end) return WatchOutcome{std::move(view->end), {}};
    }
    const Result<EngineState> state = engine.State(submission.job, stop);
    if (!state.ok() && state.status().code() == Code::kCancelled) return state.status();
    const std::string engine_says = state.ok() ? state->told : std::string(state.status().message());
    if (state.ok() && state->over && ++looks_after_end >= kLooksAfterEnd)
      return WatchOutcome{std::nullopt,
                          state->code ? StrCat(engine_says, ", exit status ", *state->code) : engine_says};
    if (view && Time::now() >= next_line) {
      std::string line =
          StrCat(Describe(*view, holders.Count(*view, stop)), "; ", submission.engine, ": ", engine_says);
      if (line != last) LogInfo(line);
      last = std::move(line);
      next_line = Time::now() + kBetweenLines;
    }
    const std::chrono::milliseconds most = std::min(std::max(kMostWait, 100 * took), kLongestWait);
    if (!WaitFor(std::clamp<std::chrono::milliseconds>(kShare * took, kLeastWait, most), stop))
      return Status(Code::kCancelled, "stopped");
  }
}

}  // namespace pipeline
