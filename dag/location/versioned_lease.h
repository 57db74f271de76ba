// The lease of a location in a bucket: one object, replaced by version. Rules: dag/location/lease.md
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "dag/location/lease.h"

namespace pipeline {

inline constexpr std::string_view kLeaseName = ".pipe/lease.json";

class VersionedLease final : public Lease {
 public:
  /// As Lease::At.
  VersionedLease(Store& out, std::string location, LeaseTerms terms)
      : Lease(out, std::move(location), std::move(terms)) {}

  Result<std::optional<SeenLease>> Look(std::stop_token stop) override;
  /// Free: nobody holds it, or a run that is dead, as the lock of the work directory shows.
  bool IsFree(const SeenLease& seen) const override {
    return seen.holder.empty() || seen.holder == terms_.holder;
  }
  Status Renew(std::stop_token stop) override;
  Status Confirm(std::stop_token stop) override { return Renew(std::move(stop)); }
  Status GiveBack(std::stop_token stop) override;

 private:
  Result<bool> TakeSeen(const std::optional<SeenLease>& seen, std::stop_token stop) override;
  Status Write(std::string_view holder, const Condition& condition, std::stop_token stop);
  /// Finds our lease in an unknown version: the answer to a renewal never came. LeaseIsLost: it is not ours,
  /// or not there.
  Status FindOurs(std::stop_token stop);

  std::uint64_t renewal_ = 0;
  std::string version_;
};

}  // namespace pipeline
