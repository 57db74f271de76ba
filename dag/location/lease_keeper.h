// The locations that a run holds: taken together, renewed by a thread, given back at the end. Rules:
// dag/location/lease.md
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "dag/location/lease.h"
#include "dag/location/location_lock.h"

namespace pipeline {

/// Sleeps, or returns early with kCancelled.
using LeaseWait = std::function<Status(std::chrono::milliseconds, std::stop_token)>;
LeaseWait SystemLeaseWait();

/// A location, and the store that is rooted there.
using HeldLocation = std::pair<std::string, Store*>;

class LeaseKeeper {
 public:
  /// Takes each location, in the order of their names; all of them, or none with the reason. Leases of
  /// other runs are first watched until it is clear whether those runs live; `note` is told so.
  /// kFailedPrecondition as for Lease::Take and LocationLock::Take. The stores and the clock outlive the
  /// keeper.
  static Result<std::unique_ptr<LeaseKeeper>> Take(std::vector<HeldLocation> locations,
                                                   const LeaseTerms& terms, const LeaseWait& wait,
                                                   const Clock& clock,
                                                   const std::function<void(std::string_view)>& note,
                                                   std::stop_token stop);
  /// Gives all leases back.
  ~LeaseKeeper();

  /// Renews all leases from now on. `lost` is called once, from the keeper's thread, when a lease is lost.
  void Start(std::function<void(Status)> lost);

  /// OK: at this moment no other run has taken `location`, which must be one of the taken locations.
  /// LostLease otherwise. Safe from any thread.
  Status Confirm(const std::string& location, std::stop_token stop);
  /// Does the same, but without I/O if the last renewal is so recent that no other run can have taken
  /// `location`.
  Status Check(const std::string& location, std::stop_token stop);

 private:
  struct Held {
    std::string location;
    std::unique_ptr<LocationLock> lock;  // null: in a bucket, or without locks
    std::unique_ptr<Lease> lease;
    bool taken = false;
    Mutex mutex{};  // also guards calls of `lease` once it is taken
    std::chrono::nanoseconds known GUARDED_BY(mutex){
        0};                           // by `clock_`: the start of the last renewal that had an answer
    Status lost GUARDED_BY(mutex){};  // not OK: lost for good
  };

  LeaseKeeper(const LeaseTerms& terms, LeaseWait wait, const Clock& clock)
      : every_(terms.every), wait_(std::move(wait)), clock_(clock) {}
  /// Watches the leases that others hold until each was silent for its time. By location; absent: it is
  /// free.
  Result<std::vector<std::optional<SeenLease>>> Watch(const std::function<void(std::string_view)>& note,
                                                      const std::stop_token& stop);
  Status Renew(Held& held, Status (Lease::*how)(std::stop_token), std::stop_token stop) REQUIRES(held.mutex);
  Held& Find(const std::string& location);
  void Loop(std::stop_token stop, const std::function<void(Status)>& lost);

  const std::chrono::milliseconds every_;
  const LeaseWait wait_;
  const Clock& clock_;
  std::vector<std::unique_ptr<Held>> held_;  // by name
  std::jthread thread_;
};

}  // namespace pipeline
