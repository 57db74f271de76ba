// The lease of a location in a directory, which other machines may share: numbered objects that are created
// and never replaced. Rules: dag/location/lease.md
#pragma once

#include <cstdint>
#include <string>

#include "dag/location/lease.h"

namespace pipeline {

inline constexpr std::string_view kNumberedLeasePrefix = ".pipe/lease/";

class NumberedLease final : public Lease {
 public:
  /// As Lease::At.
  NumberedLease(Store& out, std::string location, LeaseTerms terms, bool locked);

  Result<std::optional<SeenLease>> Look(std::stop_token stop) override;
  /// Free: nobody holds it, or a dead run of this machine does, as the lock on the location or on the work
  /// directory shows.
  bool IsFree(const SeenLease& seen) const override {
    const bool same_host = !terms_.host.empty() && seen.host == terms_.host;
    return seen.holder.empty() || (same_host && (locked_ || seen.holder == terms_.holder));
  }
  Status Renew(std::stop_token stop) override;
  Status Confirm(std::stop_token stop) override;
  Status GiveBack(std::stop_token stop) override;

 private:
  Result<bool> TakeSeen(const std::optional<SeenLease>& seen, std::stop_token stop) override;
  /// 0: there is no number.
  Result<std::uint64_t> Highest(const std::stop_token& stop);
  Result<bool> Exists(std::uint64_t number);
  Result<bool> IsOurs(std::uint64_t number, const std::stop_token& stop);
  /// kAlreadyExists: another object is there.
  Status Create(std::uint64_t number, std::string_view holder, const std::stop_token& stop);
  /// Goes on from the newest number, if that is one of ours whose answer was lost.
  Status FollowOwn(const std::stop_token& stop);
  Status CreateNext(std::string_view holder, const std::stop_token& stop);
  Status WriteSign(const std::stop_token& stop);
  /// Removes the numbers that no run looks for any more, until the first failure.
  void RemoveOld();

  const bool locked_;
  const std::string nonce_;
  std::uint64_t number_ = 0;  // ours; before it is taken: the highest seen
  std::uint64_t renewal_ = 0;
};

/// Returns whether `number` can be removed when `highest` is the highest number.
bool IsOldNumber(std::uint64_t number, std::uint64_t highest);

}  // namespace pipeline
