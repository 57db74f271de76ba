// The lease of a unit: it keeps other workers from running the same unit. Format and rules:
// dag/package/work_queue.md
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/result.h"
#include "storage/store.h"

namespace pipeline {

/// Prefix of the leases below the location of a work package.
inline constexpr std::string_view kUnitLeasePrefix = "lease/";

/// Periods without a sign of life after which a worker counts as dead.
inline constexpr int kSilentPeriods = 4;

/// The worker that takes leases.
struct UnitLeaseTerms {
  std::string nonce;  // different for each worker
  std::string who;    // for people: "vm-2, process 4711"
  std::chrono::milliseconds every{15'000};
  std::uint64_t memory = 0;  // bytes that the worker has for a unit; 0: unknown
};

/// A lease as others see it.
struct SeenUnitLease {
  std::string who = "?";
  int attempt = 1;
  std::int64_t began = 0;  // by the clock of the worker, in milliseconds since 1970; 0: unknown
  /// Between `began` and the last sign of life; absent: an earlier program wrote the lease.
  std::optional<std::chrono::milliseconds> ran{};
  std::chrono::milliseconds every{15'000};
  std::uint64_t memory = 0;  // as in UnitLeaseTerms
};

/// A lease of this worker. It is only a hint: a unit that two workers run gives the same bytes twice. One
/// thread at a time.
class UnitLease {
 public:
  /// Creates the lease `name`. Absent: another worker has it.
  static Result<std::optional<UnitLease>> Take(Store& package, const UnitLeaseTerms& terms, std::string name,
                                               const std::stop_token& stop);
  /// Replaces `silent`, the lease `name` of a worker that gave no sign of life. Absent: it gave one, or
  /// somebody else was quicker.
  static Result<std::optional<UnitLease>> TakeOver(Store& package, const UnitLeaseTerms& terms,
                                                   std::string name, const ObjectInfo& silent,
                                                   const std::stop_token& stop);

  /// Gives a sign of life. kFailedPrecondition: another worker has it now.
  Status Renew(const std::stop_token& stop);
  /// Removes it, unless another worker has it now.
  Status GiveBack();

  const std::string& name() const { return name_; }
  /// Its object as this worker wrote it last. Without a version: the answer to a renewal was lost.
  const ObjectInfo& object() const { return object_; }
  /// Number of workers that had this lease, with this one.
  int attempt() const { return attempt_; }
  /// The lease that was taken over. Absent: this worker was the first.
  const std::optional<SeenUnitLease>& before() const { return before_; }

 private:
  UnitLease(Store& package, const UnitLeaseTerms& terms, std::string name, int attempt)
      : package_(&package), terms_(terms), name_(std::move(name)), attempt_(attempt) {}
  Status Write(const Condition& condition, const std::stop_token& stop);
  /// Returns the object that is there if this worker wrote it; absent: somebody else did, or there is none.
  Result<std::optional<ObjectInfo>> FindOwn() const;

  Store* package_;
  UnitLeaseTerms terms_;
  std::string name_;
  ObjectInfo object_;
  int attempt_;
  std::int64_t began_ = SystemClock().UnixMillis();
  std::optional<SeenUnitLease> before_;
  std::chrono::nanoseconds taken_ = SystemClock().Monotonic();
  int renewal_ = 0;
};

/// Renews the lease of a unit while the unit runs. Its thread owns the lease until Stop: it renews it first
/// after `first`, then every `every`. A renewal that fails is tried again one period later. A lease that
/// another worker took over is renewed no more, and its unit goes on, because the first result counts.
class LeaseRenewal {
 public:
  LeaseRenewal(UnitLease lease, std::chrono::milliseconds first, std::chrono::milliseconds every);

  const std::string& name() const { return name_; }
  /// Ends the renewals and returns the lease. Call it once.
  UnitLease Stop();

 private:
  void Loop(const std::stop_token& stop, std::chrono::milliseconds first, std::chrono::milliseconds every);

  const std::string name_;
  UnitLease lease_;
  std::jthread thread_;  // last: it uses the others
};

/// Returns the object of the lease `name`.
std::string ObjectOfLease(std::string_view name);

/// How long a worker has had a lease.
struct LeaseAge {
  std::chrono::milliseconds time{0};  // 0: unknown
  bool at_last_sign = false;          // `time` ended at its last sign of life, and it is unknown how long ago
};

/// Returns the age at `now`, by the clock of this machine in milliseconds since 1970. Where that clock and
/// the worker's are apart, or the worker has been silent for long, the clocks tell nothing.
LeaseAge AgeOf(const SeenUnitLease& lease, std::int64_t now);

/// Reads the lease with the object `lease`. A lease that is damaged, gone or replaced has the values above.
Result<SeenUnitLease> ReadUnitLease(Store& package, const ObjectInfo& lease, const std::stop_token& stop);

}  // namespace pipeline
