// The paths in a work directory. It knows where things are, not their contents.
#pragma once

#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/result.h"

namespace pipeline {

/// Immutable. All paths begin with the given path.
class WorkDir {
 public:
  explicit WorkDir(std::string path);

  /// Makes the directory and its missing subdirectories.
  Status Create() const;

  const std::string& path() const { return path_; }
  std::string log() const;   // dag/books/run_log.md
  std::string lock() const;  // dag/books/lock.h
  std::string artifacts() const;
  std::string spool() const;    // objects on their way to a bucket
  std::string sources() const;  // downloads: storage/remote/http/part_file.md
  std::string kept() const;     // copies of remote objects that Jobs keep from one run to the next
  std::string cache() const;    // of the scratch of a home: storage/cache/cache.md
  std::string hosts() const;    // of machines that follow another one: a work directory each
  std::string host(int number) const;
  std::string runs() const;
  std::string run(std::string_view id) const;  // the reports of one run
  /// Directory of the stage with this recipe, for its partition outputs and intermediates.
  std::string artifact(std::string_view stage, const Digest& recipe) const;

  /// Returns "clean-0123456789abcdef": the first 16 digits distinguish the recipes of one stage, and the
  /// path stays legible. It names an artifact's directory and its quarantine.
  static std::string ArtifactName(std::string_view stage, const Digest& recipe);

 private:
  std::string path_;
};

}  // namespace pipeline
