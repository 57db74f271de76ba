// A lease: the right to write to a location that other machines can reach, too. Rules: dag/location/lease.md
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "storage/store.h"

namespace pipeline {

/// Bytes of the object of a lease, at most.
inline constexpr std::uint64_t kMaxLeaseBytes = 64 << 10;
/// The period of a lease that tells none, in milliseconds.
inline constexpr std::int64_t kUsualLeasePeriod = 15'000;

struct LeaseTerms {
  std::string holder;  // names the work directory
  std::string who;     // for people: "vm-2, process 4711"
  std::string host;    // names the running kernel; empty: unknown
  std::chrono::milliseconds every{15'000};
};

/// A lease as it was read.
struct SeenLease {
  std::string version;  // changes with each renewal
  std::string holder;   // empty: nobody holds it
  std::string host;     // empty: unknown
  std::string who;
  std::chrono::milliseconds every{0};
  std::string nonce;  // names the run; empty: unknown
};

/// Failure detail: another run took the location over, or somebody removed its lease.
struct LostLease final : StatusDetail {};
/// Returns kFailedPrecondition with LostLease.
Status LeaseIsLost(std::string_view location, std::string_view why);

/// Reasons of LeaseIsLost.
inline constexpr std::string_view kTakenOver = "another run has taken it over";
inline constexpr std::string_view kLeaseRemoved =
    "the lease of this run was removed, alone or with all that is there";
/// Returns the error for a run that finds another run at `location`.
Status HeldByAnother(std::string_view location, std::string_view who);

/// Returns the period of a lease with this `every_ms`, in milliseconds. Values below 100 or above
/// 60,000 become these bounds.
std::chrono::milliseconds LeasePeriod(std::int64_t every_ms);

/// The lease of one location. One thread at a time.
class Lease {
 public:
  /// Returns the lease of `location`: numbered in a directory, replaced by version in a bucket. `out` is
  /// rooted there and outlives the lease. `locked`: this run has the kernel's lock on the location.
  static std::unique_ptr<Lease> At(Store& out, const std::string& location, LeaseTerms terms, bool locked);

  virtual ~Lease() = default;
  /// Absent: there is no lease. An unreadable lease counts as held.
  virtual Result<std::optional<SeenLease>> Look(std::stop_token stop) = 0;
  /// Returns whether it can be taken without checking that its holder is dead.
  virtual bool IsFree(const SeenLease& seen) const = 0;
  /// Takes the lease if it is free or still `silent`. kFailedPrecondition: another run holds it.
  Status Take(const std::optional<SeenLease>& silent, std::stop_token stop);
  /// Gives a sign of life. LostLease: another run took it over. Any other error may be temporary.
  virtual Status Renew(std::stop_token stop) = 0;
  /// Renews, and proves that no other run has taken the lease before. LostLease as for Renew.
  virtual Status Confirm(std::stop_token stop) = 0;
  /// Frees the lease. LostLease: it is not ours to give back.
  virtual Status GiveBack(std::stop_token stop) = 0;

 protected:
  Lease(Store& out, std::string location, LeaseTerms terms)
      : out_(out), location_(std::move(location)), terms_(std::move(terms)) {}
  /// Takes the lease that Look has just returned. False: somebody else was quicker, or gave it back.
  virtual Result<bool> TakeSeen(const std::optional<SeenLease>& seen, std::stop_token stop) = 0;
  /// Reads the object of a lease. One that cannot be read counts as held by somebody.
  Result<SeenLease> Read(std::string_view name, std::string version, std::stop_token stop);

  Store& out_;
  const std::string location_;
  const LeaseTerms terms_;
};

}  // namespace pipeline
