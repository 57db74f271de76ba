// The leases of a run: taken together, renewed by a thread, given back at the end.
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

#include "dag/lease.h"

namespace pipeline {

/// Sleeps, or returns early with kCancelled.
using LeaseWait = std::function<Status(std::chrono::milliseconds, std::stop_token)>;
LeaseWait SystemLeaseWait();

class LeaseKeeper {
 public:
  /// Takes the lease of each place, in the order of their names; all of them, or none and why not. Those that
  /// others hold are first looked at for as long as it takes to know whether they live; `note` is told so.
  /// kFailedPrecondition as Lease::Take. The stores outlive it.
  static Result<std::unique_ptr<LeaseKeeper>> Take(std::vector<std::pair<std::string, Store*>> places,
                                                   const LeaseTerms& terms, const LeaseWait& wait,
                                                   const std::function<void(std::string_view)>& note,
                                                   std::stop_token stop);
  /// Gives them back.
  ~LeaseKeeper();

  /// Renews from now on. `lost` is called once, from the thread of the keeper, when one is lost.
  void Start(std::function<void(Status)> lost);

 private:
  LeaseKeeper(const LeaseTerms& terms, LeaseWait wait) : every_(terms.every), wait_(std::move(wait)) {}
  void Loop(std::stop_token stop, const std::function<void(Status)>& lost);

  const std::chrono::milliseconds every_;
  const LeaseWait wait_;
  std::vector<std::unique_ptr<Lease>> leases_;  // touched by the thread alone while it runs
  std::jthread thread_;
};

}  // namespace pipeline
