// The TensorBoard files of runs in one directory of this machine, for a program that shows them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "plugins/native/services.h"

namespace pipeline {

/// A directory with a link for each run: to its curves on this machine, or to copies of those in a bucket.
/// One thread. Several processes may show the same runs by the same cache.
class RunCurves {
 public:
  /// A run directory, or a location that a stage `train` publishes to, or the URI of either. All runs of a
  /// location are shown.
  struct Place {
    std::string uri;
    bool may_come = false;  // true: its first training may begin later
  };
  /// Copies and links are below `cache`. `call` outlives it.
  RunCurves(const std::string& cache, std::vector<Place> places, const PluginServices& call);

  /// Looks for runs, and copies what is new in buckets. An object that was copied never changes. Returns the
  /// number of runs with curves. kNotFound: a place that cannot come later has no run.
  Result<std::size_t> Refresh();

  /// The absolute path of the directory.
  const std::string& directory() const { return directory_; }

 private:
  using Runs = std::map<std::string, std::string>;  // the directory of each run's curves, by its URI

  Status FindHere(const Place& place, Runs& runs) const;
  Status FindElsewhere(const Place& place, Runs& runs);
  Result<std::vector<std::string>> RunsElsewhere(const Place& place) const;
  Status Link(const Runs& runs) const;

  const std::string copies_;
  const std::vector<Place> places_;
  const std::string directory_;
  const PluginServices& call_;
  std::map<std::string, std::vector<std::string>> known_;  // the runs of each place in a bucket
  std::uint64_t looks_ = 0;
};

}  // namespace pipeline
