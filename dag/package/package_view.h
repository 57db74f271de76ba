// The state of a work package, as one listing shows it. Format: dag/package/work_queue.md
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "dag/package/versioned_json.h"
#include "dag/package/work_package.h"
#include "storage/store.h"

namespace pipeline {

/// The name of the lease of planning. Whoever plans holds the work directory or home as well.
inline constexpr std::string_view kPlanningLease = "-";
/// The end of the name of a second lease, after its unit.
inline constexpr std::string_view kSecondLease = ".2";

inline constexpr std::string_view kRunEndName = "end.json";
/// Prefix of the failed attempts.
inline constexpr std::string_view kFailedPrefix = "failed/";

/// The end of a run by workers.
struct RunEnd {
  static constexpr std::string_view kForm = "pipe_end";
  struct Failure {
    std::string unit;  // a unit, or a stage; empty: the run itself
    std::string why;
    bool operator==(const Failure&) const = default;
  };
  std::vector<Failure> failures;  // empty: everything is done
  std::string plan{};             // WorkPackage::nonce of the plan that has ended; empty: that of any
  bool operator==(const RunEnd&) const = default;
};

template <class Fields, Of<RunEnd::Failure> T>
void ListFields(Fields& fields, T& failure) {
  fields.Required("unit", failure.unit).Required("why", failure.why);
}

template <class Fields, Of<RunEnd> T>
void ListFields(Fields& fields, T& end) {
  fields.Required("failures", end.failures).Loose("plan", end.plan);
}

/// The failed attempts at one unit.
struct UnitAttempts {
  static constexpr std::string_view kForm = "pipe_failed";
  struct Attempt {
    std::string who;  // as UnitLeaseTerms::who
    int code = 0;     // the exit status that `pipe worker --unit` has
    std::string why;
    bool operator==(const Attempt&) const = default;
  };
  std::vector<Attempt> attempts;
  bool given_up = false;
  std::string version{};  // of the object that they were read from; empty: none
  bool operator==(const UnitAttempts&) const = default;
};

/// After so many failed attempts a unit is given up.
inline constexpr std::size_t kMostAttempts = 3;

template <class Fields, Of<UnitAttempts::Attempt> T>
void ListFields(Fields& fields, T& attempt) {
  fields.Required("who", attempt.who).Required("code", attempt.code).Required("why", attempt.why);
}

template <class Fields, Of<UnitAttempts> T>
void ListFields(Fields& fields, T& attempts) {
  fields.Required("attempts", attempts.attempts).Written("given_up", attempts.given_up);
}

/// Adds a failed attempt at `unit`; returns all of them. `last`: the unit is given up with it.
Result<UnitAttempts> AddAttempt(Store& package, std::string_view unit, const UnitAttempts::Attempt& attempt,
                                bool last, const std::stop_token& stop);

struct PackageView {
  std::shared_ptr<const WorkPackage> package;
  std::string version;                                      // of plan.json
  std::map<std::string, ObjectInfo, std::less<>> leases;    // by name
  std::map<std::string, ObjectInfo, std::less<>> done;      // units with a record, and its object
  std::set<std::string, std::less<>> damaged;               // units with a record that they are void
  std::set<std::string, std::less<>> first_cuts;            // units with a record of their first cuts
  std::map<std::string, UnitAttempts, std::less<>> failed;  // by unit
  std::vector<ObjectInfo> history{};                        // objects of the history of the run
  std::optional<RunEnd> end;                                // of this plan; absent: the run goes on
  std::chrono::nanoseconds seen{0};                         // Clock::Monotonic before the listing

  bool GaveUp(std::string_view unit) const;
  /// Returns whether there are records about partitions or cuts of the input that `unit` reads.
  bool HasBegun(std::string_view unit) const;
  /// Returns whether the scan of the unit has told cuts: its time is not like that of other units.
  bool IsScanned(std::string_view unit) const;
  /// Returns the units that wait and need more than `memory` bytes.
  std::vector<const OfferedUnit*> TooLarge(std::uint64_t memory) const;
  /// Returns the names of the leases whose units run now, with that of planning: the others are of units that
  /// are done.
  std::vector<std::string> RunningLeases() const;
};

/// Returns the unit of the lease `name`.
std::string_view UnitOfLease(std::string_view name);

/// Lists `package`. It reads again only objects that changed since `before`. Null: this is the first look.
/// kNotFound: there is no plan.
Result<PackageView> LookAt(Store& package, const PackageView* before, const Clock& clock,
                           const std::stop_token& stop);

}  // namespace pipeline
