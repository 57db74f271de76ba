// Names of a stage's published objects, relative to the location of its artifact.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace pipeline {

/// `splits` are those of the incoming records.
struct ObjectNames {
  using Test = std::function<bool(const Json& config, const std::vector<std::string>& splits,
                                  std::string_view object)>;
  /// Returns whether `object` has exactly the form of the stage's own names, for any number of shards.
  /// Empty: no name has.
  Test own = {};
  /// Returns whether `object` matches a pattern by which other programs find the artifact's objects. Empty:
  /// they use no pattern.
  Test read = {};
};

}  // namespace pipeline
