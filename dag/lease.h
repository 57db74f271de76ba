// The right to write to a place that other machines can reach, too: dag/lease.md
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

inline constexpr std::string_view kLeaseName = ".pipe/lease.json";

struct LeaseTerms {
  std::string holder;  // names the work directory: what it held before may be taken at once
  std::string who;     // for people: "vm-2, process 4711"
  std::chrono::milliseconds every{15'000};
};

/// A lease as somebody left it.
struct SeenLease {
  std::string version;
  std::string holder;  // empty: nobody
  std::string who;
  std::chrono::milliseconds every{0};
};
/// Absent where there is none. One that cannot be read is held by somebody.
Result<std::optional<SeenLease>> LookAtLease(Store& out, std::stop_token stop);

/// One place's lease. One thread at a time.
class Lease {
 public:
  /// Takes it where nobody holds it, the holder of `terms` does, or it is still the `silent` one.
  /// kFailedPrecondition where somebody else holds it. `out` is rooted at `place` and outlives the lease.
  static Result<std::unique_ptr<Lease>> Take(Store& out, std::string place, const LeaseTerms& terms,
                                             const std::optional<SeenLease>& silent, std::stop_token stop);

  /// kFailedPrecondition: somebody took it over. Anything else may pass.
  Status Renew(std::stop_token stop);
  /// As Renew; nobody holds it then.
  Status GiveBack(std::stop_token stop);
  const std::string& place() const { return place_; }

 private:
  Lease(Store& out, std::string place, LeaseTerms terms)
      : out_(out), place_(std::move(place)), terms_(std::move(terms)) {}
  Status Write(std::string_view holder, const Condition& condition, std::stop_token stop);
  /// Whether the lease is ours in a version that we do not know: the answer to a renewal never came.
  Result<bool> FindOurs(std::stop_token stop);

  Store& out_;
  const std::string place_;
  const LeaseTerms terms_;
  std::uint64_t renewal_ = 0;
  std::string version_;
};

}  // namespace pipeline
