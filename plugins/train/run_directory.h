// The directory of one training: who owns it, and the few files in it that are the stage's. CONTRACT.md,
// sections 1, 3 and 8.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "base/json.h"
#include "base/result.h"

namespace pipeline {

/// The file that says which checkpoint of a bucket this directory goes on from: CONTRACT.md, section 10.
inline constexpr const char* kBucketRecord = "bucket.json";

/// Whether a result.json is that of a whole training: CONTRACT.md, section 8.
bool ReachesSteps(const Json& result, std::int64_t steps, bool may_stop_early);

class RunDirectory {
 public:
  /// Makes it and what it needs, and takes its lock until the end of this object. kFailedPrecondition:
  /// another process has it.
  static Result<RunDirectory> Open(const std::string& path);

  std::string Path(std::string_view name) const { return path_ + "/" + std::string(name); }
  /// The number that the next attempt has; makes room among the logs of old ones.
  std::int64_t NextAttempt() const;
  std::string LogPath(std::int64_t attempt, std::size_t worker, std::string_view end) const;

  /// A file of ours or the trainer's, of at most 64 MiB; null where there is none or it is no JSON.
  Json Read(std::string_view name) const;
  /// Replaces it as a whole, durably.
  Status Write(std::string_view name, const Json& json) const;
  Status Remove(std::string_view name) const;

  /// What is wrong with result.json for a training of so many steps; OK where nothing is. Fewer will do
  /// where `may_stop_early` and it says that the training did.
  Status CheckResult(std::int64_t steps, bool may_stop_early) const;
  /// What makes up the artifact, in the order of the manifest. After CheckResult.
  Result<std::vector<std::string>> Objects() const;

 private:
  RunDirectory(std::string path, FileDescriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  FileDescriptor lock_;
};

}  // namespace pipeline
