#include "dag/location/lease_watch.h"

#include <optional>
#include <utility>

#include "dag/location/numbered_lease.h"
#include "dag/location/versioned_lease.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

std::unique_ptr<Lease> LeaseAt(Store& out, const std::string& location) {
  if (IsRemote(location)) return std::make_unique<VersionedLease>(out, location, LeaseTerms());
  return std::make_unique<NumberedLease>(out, location, LeaseTerms(), false);
}

}  // namespace

LeaseWatch::LeaseWatch(Store& out, const std::string& location) : lease_(LeaseAt(out, location)) {}

bool LeaseWatch::Moved(std::stop_token stop) {
  const Result<std::optional<SeenLease>> seen = lease_->Look(std::move(stop));
  if (!seen.ok()) return false;
  const std::string version = *seen && !(*seen)->holder.empty() ? (*seen)->version : std::string();
  return std::exchange(version_, version) != version && !version.empty();
}

}  // namespace pipeline
