// Looks at the lease of a location without taking it.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "dag/location/lease.h"
#include "storage/store.h"

namespace pipeline {

/// One thread. Writes nothing.
class LeaseWatch {
 public:
  /// `out` is rooted at `location`, and outlives it.
  LeaseWatch(Store& out, const std::string& location);

  /// True if a run holds the location and has renewed its lease since the last look, or holds it at the first
  /// look. A lease that cannot be read counts as unchanged.
  bool Moved(std::stop_token stop);

 private:
  const std::unique_ptr<Lease> lease_;
  std::string version_;  // as it was seen last; empty: nobody held it
};

}  // namespace pipeline
