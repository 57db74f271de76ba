// The disk that a plan will take, on each file system of this machine.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dag/forecast/forecast.h"
#include "dag/plan/plan.h"

namespace pipeline {

/// The bytes that a run adds on one file system at its peak.
struct DiskNeed {
  std::string path;         // on it: the work directory, or the location of an artifact
  std::uint64_t bytes = 0;  // the forecast
  /// Less than that does not do: all that is downloaded, and half of what is made of the text. A stage that
  /// drops most of its records may need less than the forecast says.
  std::uint64_t least = 0;
};

struct DiskPlaces {
  std::string work;               // the work directory; of a home in a bucket, its scratch
  bool has_intermediates = true;  // false: they go to the home in a bucket
  bool is_known = true;           // false: the amount of text is guessed, for a trial or without sizes
  /// True if two paths are on one file system.
  std::function<bool(const std::string&, const std::string&)> same;
  /// The bytes of the files below a directory.
  std::function<std::uint64_t(const std::string&)> held;
};

/// Existing data are no need: outputs that count, bytes at the locations, and downloads.
std::vector<DiskNeed> DiskNeedsOf(const Plan& plan, const Forecast& forecast, const DiskPlaces& places);

}  // namespace pipeline
