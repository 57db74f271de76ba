#include "dag/location/lease_watch.h"

#include <optional>
#include <utility>

namespace pipeline {

LeaseWatch::LeaseWatch(Store& out, const std::string& location)
    : lease_(Lease::At(out, location, {}, false)) {}

bool LeaseWatch::Moved(std::stop_token stop) {
  const Result<std::optional<SeenLease>> seen = lease_->Look(std::move(stop));
  if (!seen.ok()) return false;
  const std::string version = *seen && !(*seen)->holder.empty() ? (*seen)->version : std::string();
  return std::exchange(version_, version) != version && !version.empty();
}

}  // namespace pipeline
