// The directory of one training: its lock, and the files in it that the stage owns. CONTRACT.md, sections
// 1, 3 and 8.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "base/json.h"
#include "base/result.h"

namespace pipeline {

/// The file that names the checkpoint in a bucket that this directory resumes from: CONTRACT.md, section
/// 10.
inline constexpr const char* kBucketRecord = "bucket.json";

/// The reply of the stage to `run` (plugins/ABI.md, section 7): facts of the content of result.json, and the
/// objects of the artifact.
Json AnswerOf(const Json& result, const std::vector<std::string>& objects);

/// The steps of a result.json: those that were reached, or those that were asked for where nobody saw any.
const Json& StepsOf(const Json& result);

/// True if a result.json belongs to a complete training: CONTRACT.md, section 8.
bool ReachesSteps(const Json& result, std::int64_t steps, bool may_stop_early);

/// The JSON in a file of at most 64 MiB; null: it does not exist or is not JSON.
Json ReadJsonFile(const std::string& path);

/// The job of a training whose result is to replace a finished one, in a run directory or below its URI.
inline constexpr const char* kNextJob = "next/job.json";

class RunDirectory {
 public:
  /// Creates the directory and its subdirectories, and holds its lock as long as this object exists.
  /// kUnavailable: another process holds it.
  static Result<RunDirectory> Open(const std::string& path);

  std::string Path(std::string_view name) const { return path_ + "/" + std::string(name); }
  /// The number of the next attempt; also removes old logs.
  std::int64_t NextAttempt() const;
  /// Removes old logs before an attempt whose number others have chosen, and all that have this number: an
  /// earlier training of this machine may have left them.
  void MakeRoom(std::int64_t attempt) const;
  std::string LogPath(std::int64_t attempt, std::size_t worker, std::string_view end) const;

  /// Begins attempts at a result, and writes their job file. A finished result of earlier attempts stays as
  /// it is: the new one is made below `next`, as the member `results` of the job file says, and InstallResult
  /// brings it to its place. `finished`: such a result is there.
  Status BeginResult(Json job_file, bool finished) const;
  /// A file of the result that attempts make: `name`, perhaps below `next`.
  std::string NewResult(std::string_view name) const;
  /// Replaces the finished result by the new one. result.json is removed first and comes last.
  Status InstallResult() const;
  /// Ends an InstallResult that a kill has cut off.
  Status EndInstall() const;
  /// The job of a new result that is complete and was not installed yet; null: there is none.
  Json NewJob(std::int64_t steps) const;
  /// True if there is a finished result: of any number of steps.
  bool HasResult() const;

  /// A file of ours or the trainer's, as ReadJsonFile.
  Json Read(std::string_view name) const { return ReadJsonFile(Path(name)); }
  /// Replaces the file as a whole, durably.
  Status Write(std::string_view name, const Json& json) const;
  Status Remove(std::string_view name) const;

  /// Checks result.json for a training of `steps` steps. Accepts fewer steps if `may_stop_early` and the
  /// result says that the training stopped early.
  Status CheckResult(std::int64_t steps, bool may_stop_early) const;
  /// The same for the result that attempts make.
  Status CheckNewResult(std::int64_t steps, bool may_stop_early) const;
  /// Call after CheckResult. The objects of the artifact, in the order of the manifest.
  Result<std::vector<std::string>> Objects() const;

 private:
  /// `below`: the directory of the result, with a slash, below this one.
  Status CheckResultIn(std::string_view below, std::int64_t steps, bool may_stop_early) const;

  RunDirectory(std::string path, FileDescriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  FileDescriptor lock_;
};

}  // namespace pipeline
