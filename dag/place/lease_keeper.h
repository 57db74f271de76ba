// The places that a run holds: taken together, renewed by a thread, given back at the end. dag/place/lease.md
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
#include "dag/place/lease.h"
#include "dag/place/place_lock.h"

namespace pipeline {

/// Sleeps, or returns early with kCancelled.
using LeaseWait = std::function<Status(std::chrono::milliseconds, std::stop_token)>;
LeaseWait SystemLeaseWait();

/// A place, and the store that is rooted there.
using HeldPlace = std::pair<std::string, Store*>;

class LeaseKeeper {
 public:
  /// Takes each place, in the order of their names; all of them, or none and why not. Those that others hold
  /// are first looked at for as long as it takes to know whether they live; `note` is told so.
  /// kFailedPrecondition as Lease::Take and PlaceLock::Take. The stores and the clock outlive it.
  static Result<std::unique_ptr<LeaseKeeper>> Take(std::vector<HeldPlace> places, const LeaseTerms& terms,
                                                   const LeaseWait& wait, const Clock& clock,
                                                   const std::function<void(std::string_view)>& note,
                                                   std::stop_token stop);
  /// Gives them back.
  ~LeaseKeeper();

  /// Renews from now on. `lost` is called once, from the thread of the keeper, when one is lost.
  void Start(std::function<void(Status)> lost);

  /// OK: at this moment nobody else has taken `place`, one of those that were taken. LostLease otherwise.
  /// From any thread.
  Status Confirm(const std::string& place, std::stop_token stop);
  /// The same, and asks nobody where the last answer is so young that nobody can have taken it.
  Status Check(const std::string& place, std::stop_token stop);

 private:
  struct Held {
    std::string place;
    std::unique_ptr<PlaceLock> lock;  // null: in a bucket, or without locks
    std::unique_ptr<Lease> lease;
    bool taken = false;
    Mutex mutex{};  // also of what `lease` does once it is taken
    std::chrono::nanoseconds known GUARDED_BY(mutex){
        0};                           // when the last renewal that had an answer was begun
    Status lost GUARDED_BY(mutex){};  // not OK: for good
  };

  LeaseKeeper(const LeaseTerms& terms, LeaseWait wait, const Clock& clock)
      : every_(terms.every), wait_(std::move(wait)), clock_(clock) {}
  /// Looks at those leases that others hold until each was silent for its time. By place; absent where it is
  /// free.
  Result<std::vector<std::optional<SeenLease>>> Watch(const std::function<void(std::string_view)>& note,
                                                      const std::stop_token& stop);
  Status Renew(Held& held, Status (Lease::*how)(std::stop_token), std::stop_token stop) REQUIRES(held.mutex);
  Held& Find(const std::string& place);
  void Loop(std::stop_token stop, const std::function<void(Status)>& lost);

  const std::chrono::milliseconds every_;
  const LeaseWait wait_;
  const Clock& clock_;
  std::vector<std::unique_ptr<Held>> held_;  // by name
  std::jthread thread_;
};

}  // namespace pipeline
