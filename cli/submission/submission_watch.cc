#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/enumeration.h"
#include "base/log.h"
#include "base/str.h"
#include "base/wait.h"
#include "cli/submission/submission_run.h"
#include "cli/submission/workers_status.h"

namespace pipeline {

namespace {

constexpr std::chrono::milliseconds kLeastWait{500}, kMostWait{5'000}, kBetweenLines{10'000},
    kMostWaitForWorkers{30'000};
// The watch takes 1/200 of the time, 1/100 if a look takes long, but never more than 1/200 of a core; a
// minute also after a look at a server that hardly answers.
constexpr int kShare = 200;
constexpr std::chrono::milliseconds kLongestWait{60'000};
constexpr std::chrono::seconds kBetweenReleases{30};
constexpr int kMostReleases = 10;
constexpr int kLooksAfterEnd =
    4;  // at a work package whose workers have ended: the last one may have written the end
constexpr std::size_t kMostResults = 200;  // that one look reads

/// Tells each failed attempt once.
void TellAttempts(const PackageView& view, std::map<std::string, std::size_t>& told) {
  for (const auto& [unit, attempts] : view.failed)
    for (std::size_t& at = told[unit]; at < attempts.attempts.size(); ++at) {
      const UnitAttempts::Attempt& attempt = attempts.attempts[at];
      LogWarning(StrCat(unit, ": attempt ", at + 1, " failed (", attempt.who, "): ", attempt.why));
    }
}

/// Tells once of each unit that needs more than the largest worker has. 0: its memory is unknown.
void TellTooLarge(const PackageView& view, std::uint64_t memory, std::set<std::string>& told) {
  if (memory == 0) return;
  for (const OfferedUnit* unit : view.TooLarge(memory))
    if (told.insert(unit->unit).second)
      LogWarning(StrCat(unit->unit, ": needs ", HumanBytes(*unit->needs.memory),
                        " of memory, and the largest worker has ", HumanBytes(memory),
                        "; it waits for a larger one (--memory, limits.memory)"));
}

/// Releases workers that the engine holds, some times each: a host that has not recovered fails again.
class Releases {
 public:
  void Try(Engine& engine, const std::string& name, const EngineState& state, const std::stop_token& stop) {
    if (state.held.empty() || Time::now() < next_) return;
    next_ = Time::now() + kBetweenReleases;
    std::vector<std::string> held;
    for (const std::string& worker : state.held)
      if (const int times = ++times_[worker]; times <= kMostReleases) {
        held.push_back(worker);
      } else if (times == kMostReleases + 1) {
        LogWarning(StrCat("worker ", worker, " failed to start ", kMostReleases, " times; ", name,
                          " holds it until somebody releases it"));
      }
    if (held.empty()) return;
    const Status released = engine.Release(held, stop);
    if (released.ok())
      LogWarning(StrCat(Counted(held.size(), "worker"), " failed to start, and ", name,
                        " held them; they are released"));
    else if (released.code() != Code::kCancelled)
      LogWarning(StrCat("workers that failed to start cannot be released (", released.message(), ")"));
  }

 private:
  using Time = std::chrono::steady_clock;
  std::map<std::string, int> times_;  // by worker
  Time::time_point next_{};
};

}  // namespace

void WaitForWorkers(Engine& engine, const Submission& submission, const std::stop_token& stop) {
  Releases releases;  // a held worker would stay in the queue for ever; one that starts now ends at once
  for (std::chrono::milliseconds waited{0}; waited < kMostWaitForWorkers; waited += kLeastWait) {
    const Result<EngineState> state = engine.State(submission.job, stop);
    if (!state.ok() || state->over) return;
    releases.Try(engine, submission.engine, *state, stop);
    if (!WaitFor(kLeastWait, stop)) return;
  }
}

Result<WatchOutcome> WatchRun(Store& package, const std::string& place, const PackageView* before,
                              Engine& engine, const Submission& submission, StatusDisplay& display,
                              const std::stop_token& stop) {
  using Time = std::chrono::steady_clock;
  WorkersWatch workers(package, place);
  std::optional<WorkersStatus> status;
  std::string last;
  std::map<std::string, std::size_t> told;
  std::set<std::string> told_too_large;
  Time::time_point next_line = Time::now();
  int looks_after_end = 0;
  Releases releases;
  for (;;) {
    const Time::time_point begun = Time::now();
    const std::clock_t cpu_begun = std::clock();  // of all threads
    Result<PackageView> seen = LookAt(package, status ? &status->view : before, SystemClock(), stop);
    if (!seen.ok() && seen.status().code() != Code::kUnavailable) return std::move(seen).status();
    if (seen.ok()) {
      TellAttempts(*seen, told);
      TellTooLarge(*seen, submission.memory, told_too_large);
      if (seen->end) return WatchOutcome{std::move(*seen), {}};
      status = workers.Look(std::move(*seen), SystemClock().UnixMillis(), kMostResults, stop);
    }
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Time::now() - begun);
    const Result<EngineState> state = engine.State(submission.job, stop);
    if (!state.ok() && state.status().code() == Code::kCancelled) return state.status();
    if (state.ok()) releases.Try(engine, submission.engine, *state, stop);
    const std::string engine_says = state.ok() ? state->told : std::string(state.status().message());
    if (state.ok() && state->over && ++looks_after_end >= kLooksAfterEnd)
      return WatchOutcome{std::nullopt,
                          state->code ? StrCat(engine_says, ", exit status ", *state->code) : engine_says};
    const std::string engine_line = StrCat(submission.engine, ": ", engine_says);
    if (status && display.has_terminal()) {
      display.Show(LiveLines(*status, engine_line));
    } else if (status && Time::now() >= next_line) {
      std::string line = LogLine(*status, engine_line);
      if (line != last) LogInfo(line);
      last = std::move(line);
      next_line = Time::now() + kBetweenLines;
    }
    const std::chrono::milliseconds used(1000 * (std::clock() - cpu_begun) / CLOCKS_PER_SEC);
    const std::chrono::milliseconds most = std::min(std::max(kMostWait, 100 * took), kLongestWait);
    const std::chrono::milliseconds wait =
        std::clamp<std::chrono::milliseconds>(kShare * took, kLeastWait, most);
    if (!WaitFor(std::max(wait, std::min<std::chrono::milliseconds>(kShare * used, kLongestWait)), stop))
      return Status(Code::kCancelled, "stopped");
  }
}

}  // namespace pipeline
