// The places of a work directory and their names. Knows where things are, not what is in them.
#pragma once

#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/result.h"

namespace pipeline {

/// Immutable. Paths begin with the path that it was given.
class WorkDir {
 public:
  explicit WorkDir(std::string path);

  /// Makes the directory and those in it that are missing.
  Status Create() const;

  const std::string& path() const { return path_; }
  std::string log() const;   // dag/run_log.md
  std::string lock() const;  // dag/lock.h
  std::string artifacts() const;
  std::string spool() const;    // what is on its way to a bucket
  std::string sources() const;  // what comes from elsewhere: remote/part_file.md
  std::string kept() const;     // what Jobs keep from one run to the next: copies of what is elsewhere
  std::string runs() const;
  std::string run(std::string_view id) const;  // the reports of one run
  /// Where the stage of this recipe keeps its pieces and intermediates.
  std::string artifact(std::string_view stage, const Digest& recipe) const;

  /// "clean-0123456789abcdef": the first 16 digits tell the recipes of one stage apart, and a path
  /// stays legible. Names an artifact's directory and its quarantine.
  static std::string ArtifactName(std::string_view stage, const Digest& recipe);

 private:
  std::string path_;
};

}  // namespace pipeline
