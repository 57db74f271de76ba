// The lease of a place in a directory, which other machines may share: numbered objects that are only ever
// created. dag/place/lease.md
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "dag/place/lease.h"

namespace pipeline {

inline constexpr std::string_view kNumberedLeasePrefix = ".pipe/lease/";

class NumberedLease final : public Lease {
 public:
  /// `locked`: this run has the lock of the kernel on the place. `out` is rooted at `place` and outlives the
  /// lease.
  NumberedLease(Store& out, std::string place, LeaseTerms terms, bool locked);

  Result<std::optional<SeenLease>> Look(std::stop_token stop) override;
  /// Nobody holds it, or a run of this machine that is dead: by the lock on the place, or by that of the work
  /// directory.
  bool IsFree(const SeenLease& seen) const override {
    const bool same_host = !terms_.host.empty() && seen.host == terms_.host;
    return seen.holder.empty() || (same_host && (locked_ || seen.holder == terms_.holder));
  }
  Status Take(const std::optional<SeenLease>& silent, std::stop_token stop) override;
  Status Renew(std::stop_token stop) override;
  Status Confirm(std::stop_token stop) override;
  Status GiveBack(std::stop_token stop) override;

 private:
  /// 0: there is none.
  Result<std::uint64_t> Highest(const std::stop_token& stop);
  Result<bool> Exists(std::uint64_t number);
  Result<bool> IsOurs(std::uint64_t number, const std::stop_token& stop);
  /// kAlreadyExists: another object is there.
  Status Create(std::uint64_t number, std::string_view holder, const std::stop_token& stop);
  Status CreateNext(std::string_view holder, const std::stop_token& stop);
  Status WriteSign(const std::stop_token& stop);
  /// Removes the numbers that nobody looks for any more, as far as that goes.
  void RemoveOld();

  Store& out_;
  const std::string place_;
  const LeaseTerms terms_;
  const bool locked_;
  const std::string nonce_;
  std::uint64_t number_ = 0;  // ours; where it is not taken, the highest that was seen
  std::uint64_t renewal_ = 0;
};

/// Whether `number` can go where `highest` is the state.
bool IsOldNumber(std::uint64_t number, std::uint64_t highest);

}  // namespace pipeline
