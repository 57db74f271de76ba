// Renews the lease of a unit while the unit runs.
#pragma once

#include <chrono>
#include <stop_token>
#include <thread>

#include "dag/package/unit_lease.h"

namespace pipeline {

/// Its thread owns the lease until Stop: it renews it first after `first`, then every `every`. A renewal that
/// fails is tried again one period later. A lease that another worker took over is renewed no more, and its
/// unit goes on, because the first result counts.
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

}  // namespace pipeline
