// The right to write to a place that other machines can reach, too: dag/place/lease.md
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "storage/store.h"

namespace pipeline {

struct LeaseTerms {
  std::string holder;  // names the work directory
  std::string who;     // for people: "vm-2, process 4711"
  std::string host;    // names the running kernel; empty where nothing does
  std::chrono::milliseconds every{15'000};
};

/// A lease as somebody left it.
struct SeenLease {
  std::string version;  // another one after each renewal
  std::string holder;   // empty: nobody
  std::string host;     // empty: not known
  std::string who;
  std::chrono::milliseconds every{0};
};

/// The fact that another run took the place over, or that somebody removed what says who holds it.
struct LostLease final : StatusDetail {};
/// kFailedPrecondition with that fact.
Status LeaseIsLost(std::string_view place, std::string_view why);
/// The answer to a run that finds another one at `place`.
Status HeldByAnother(std::string_view place, std::string_view who);

/// `every_ms` of a lease as it counts; the usual where it is absent or out of bounds.
std::chrono::milliseconds LeasePeriod(std::int64_t every_ms);

/// One place's lease. One thread at a time.
class Lease {
 public:
  virtual ~Lease() = default;
  /// Absent where there is none. One that cannot be read is held by somebody.
  virtual Result<std::optional<SeenLease>> Look(std::stop_token stop) = 0;
  /// Whether it can be taken without looking whether its holder lives.
  virtual bool IsFree(const SeenLease& seen) const = 0;
  /// Takes it where it is free, or still the `silent` one. kFailedPrecondition where somebody else holds it.
  virtual Status Take(const std::optional<SeenLease>& silent, std::stop_token stop) = 0;
  /// A sign of life. LostLease: somebody took it over. Anything else may pass.
  virtual Status Renew(std::stop_token stop) = 0;
  /// Renews so that nobody else can have taken it before. LostLease as Renew.
  virtual Status Confirm(std::stop_token stop) = 0;
  /// Nobody holds it then. LostLease: it is not ours to give back.
  virtual Status GiveBack(std::stop_token stop) = 0;
};

}  // namespace pipeline
