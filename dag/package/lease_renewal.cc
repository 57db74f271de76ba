#include "dag/package/lease_renewal.h"

#include <utility>

#include "base/time_limit.h"
#include "base/wait.h"

namespace pipeline {

LeaseRenewal::LeaseRenewal(UnitLease lease, std::chrono::milliseconds first, std::chrono::milliseconds every)
    : name_(lease.name()),
      lease_(std::move(lease)),
      thread_([this, first, every](const std::stop_token& stop) { Loop(stop, first, every); }) {}

UnitLease LeaseRenewal::Stop() {
  thread_.request_stop();
  thread_.join();
  return std::move(lease_);
}

void LeaseRenewal::Loop(const std::stop_token& stop, std::chrono::milliseconds first,
                        std::chrono::milliseconds every) {
  for (std::chrono::milliseconds wait = first; WaitFor(wait, stop); wait = every) {
    const TimeLimit limit(every, stop);
    if (lease_.Renew(limit.token()).code() == Code::kFailedPrecondition) return;
  }
}

}  // namespace pipeline
