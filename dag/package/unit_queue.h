// The units of a work package as a queue for many workers: each takes the next one that is free. Rules:
// dag/package/work_queue.md
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "dag/package/package_view.h"
#include "dag/package/unit_lease.h"
#include "dag/run/unit_needs.h"
#include "storage/store.h"

namespace pipeline {

/// The number of workers that may have a lease, one after the other's death, before its unit is given up.
inline constexpr int kMostWorkers = 6;

/// Returns why no worker plans any more once the one with this lease of planning is dead; empty: another one
/// may take it over.
std::string WhyNobodyPlans(const SeenUnitLease& planning);

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

struct QueueTerms {
  UnitLeaseTerms lease;
  std::chrono::milliseconds first_renewal{30'000};
  /// Age up to which a view is trusted. The leases of finished units stay as long, so that an old view meets
  /// them.
  std::chrono::milliseconds view_age{300'000};
  std::chrono::milliseconds least_wait{500}, most_wait{5'000};
  std::uint64_t seed = 0;  // of the place in the list where this worker begins
  /// Returns why a unit does not fit this worker; empty: it fits. If null: every unit fits.
  std::function<std::string(const OfferedUnit& unit)> why_unfit = {};
};

/// One worker's access to the queue. One thread.
class UnitQueue {
 public:
  enum class Kind : std::uint8_t {
    kUnit,   // this worker has the lease of `unit`
    kPlan,   // this worker has the lease of planning
    kWait,   // nothing is free now: ask again after `wait`
    kUnfit,  // only units that do not fit this worker are left, and no other worker was at work for long
    kEnded,  // the run has ended: PackageView::end
  };
  struct Turn {
    Kind kind = Kind::kWait;
    std::string unit;  // kUnit; kWait, kUnfit: one that does not fit this worker, empty: there is none
    std::chrono::milliseconds wait{0};
    std::string why{};  // it does not fit
  };

  /// `package` and `clock` outlive the queue.
  UnitQueue(Store& package, QueueTerms terms, const Clock& clock);

  /// Takes the next unit. No unit is held.
  Result<Turn> Next(const std::stop_token& stop);

  // One of these ends each turn with a unit or with planning:

  /// The unit is done.
  Status Finished();
  /// The unit was not done, and others may take it now.
  Status Release();
  /// The same, and others are first: this machine lacks something now, such as space on its disk.
  Status Postpone();
  /// The unit needs something that only the next plan has made. This worker does not take it before.
  Status NeedsPlan();
  /// The unit cannot be run because the plan itself is damaged: until there is another one, this worker only
  /// plans.
  Status NeedsOtherPlan();
  /// The unit failed: counts the attempt. Returns whether it is given up.
  Result<bool> Failed(int code, std::string why, const std::stop_token& stop);

  /// This worker ends: removes the leases of its finished units as far as nobody needs them any more.
  Status Leave();

  /// The last look at the package. Call it after Next.
  const PackageView& view() const { return *view_; }

 private:
  struct Watched {
    std::string version;
    std::chrono::nanoseconds since{0};  // when this version was seen first
    std::chrono::nanoseconds first{0};  // when any version was
  };
  struct FinishedUnit {
    std::chrono::nanoseconds since{0};
    std::string plan;  // version of the plan that offered it
    ObjectInfo lease;  // as this worker left it
  };

  Status Look(const std::stop_token& stop);
  bool IsOld() const;
  /// Returns whether this process did not call for so long that others may have taken over its unit and
  /// ended the run: it was suspended, or its unit was long. The next call counts from now.
  bool WasAway();
  bool IsUseless() const { return !useless_.empty() && view_->version == useless_; }
  bool IsFree(const std::string& unit) const;
  bool Fits(const OfferedUnit& unit) const;
  /// Adds to `turn` a unit that waits for a larger worker. False: there is none.
  bool NameUnfit(Turn& turn) const;
  /// Returns the next free unit behind the place of this worker; empty: there is none.
  std::string NextFree();
  /// Returns where a worker continues that met another one: the middle of the longest run of free units.
  std::size_t MiddleOfLongestRun() const;
  /// Takes over the lease of a worker that gave no sign of life, or the second lease of a straggler. False:
  /// there is none.
  Result<bool> TakeAbandoned(const std::stop_token& stop);
  bool IsSilent(std::string_view lease) const;
  bool IsStraggler(const OfferedUnit& unit) const;
  /// Takes the lease `name` of `unit`. False: another worker was quicker.
  Result<bool> Take(const std::string& name, const std::string& unit, const std::stop_token& stop);
  Result<bool> TakeOver(const std::string& name, const std::string& unit, const std::stop_token& stop);
  /// Does the same with the lease of planning. kInvalidArgument: too many workers died while they planned.
  Result<bool> TakeOverPlanning(const std::stop_token& stop);
  /// Looks again after a lease whose request may have come late: after a take-over, and after a time away.
  /// False: meanwhile another worker has done the unit. The lease then stays as that of a finished unit.
  Result<bool> IsStillWanted(const std::stop_token& stop);
  void Hold(UnitLease lease, std::string unit);
  /// Returns whether a new plan can give more than the present one.
  bool NeedsPlanning() const;
  enum class Which : std::uint8_t { kOldOnesInGroups, kOldOnes, kAll };
  Status RemoveLeases(Which which);

  Store& package_;
  const QueueTerms terms_;
  const Clock& clock_;
  std::optional<PackageView> view_;
  bool stale_ = true;                                    // the view has to be renewed before a unit is taken
  std::map<std::string, Watched, std::less<>> watched_;  // by lease
  std::set<std::string, std::less<>> tried_;             // units that this worker took since its view
  std::set<std::string, std::less<>> blocked_;           // units that wait for the next plan
  std::string useless_;                                  // version of a plan that is damaged
  std::set<std::string, std::less<>> failed_here_;       // units that failed here, or were postponed
  std::map<std::string, FinishedUnit, std::less<>> finished_;  // by name of the lease, which is still there
  std::chrono::nanoseconds removed_{0};                        // when old ones of them were looked for
  std::chrono::nanoseconds called_{0};                         // WasAway
  std::size_t place_ = 0;                                      // in the list of units
  std::vector<std::size_t> jobs_;                              // their places in the list
  std::chrono::nanoseconds changed_{0};                        // when a look showed something new
  std::optional<LeaseRenewal> held_;
  std::string held_unit_;
  std::chrono::milliseconds wait_{0};
};

}  // namespace pipeline
