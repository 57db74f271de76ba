// Looks for outputs of stages that are stored. It does I/O.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "dag/environment.h"
#include "dag/location/own_objects.h"
#include "dag/plan/partition_outputs.h"
#include "dag/plan/snapshot.h"

namespace pipeline {

/// Finds outputs that only planning can name, because their names have the recipe. May look at the disk.
struct StoredOutputs {
  /// Returns the state of a location.
  std::function<Result<Snapshot::Published>(const std::string& location)> at_location;
  /// Returns the existing partition outputs of a stage with these keys, in this directory below artifacts/.
  std::function<Result<PartitionOutputs>(const OutputKeys& keys, const std::string& directory)> outputs;
};

/// `environment` outlives the result.
StoredOutputs StoredIn(const Environment& environment);

/// Returns the state of `location`. `stage` and `tests` are of the stage that publishes there; empty: no
/// stage does.
Result<Snapshot::Published> PublishedAt(const Environment& environment, const std::string& location,
                                        const std::string& stage = {}, const NameTests& tests = {});

}  // namespace pipeline
