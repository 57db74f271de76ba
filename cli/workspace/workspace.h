// Opens a workspace for one command: lock, log, stores, and the environment that uses them.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "cli/workspace/pipeline_loader.h"
#include "cli/workspace/source_files.h"
#include "dag/books/lock.h"
#include "dag/books/work_dir.h"
#include "dag/collect_snapshot.h"
#include "dag/environment.h"
#include "dag/package/work_package.h"
#include "storage/digest_cache.h"
#include "storage/remote/open_store.h"

namespace pipeline {

class Workspace {
 public:
  /// kLook: as kRead, but stores no digests if the work directory does not exist yet.
  enum class Access : std::uint8_t { kLook, kRead, kWrite };

  /// kWrite: creates the directory and takes its lock (kFailedPrecondition: another run holds it).
  static Result<std::unique_ptr<Workspace>> Open(
      const std::string& path, Access access, Progress& progress,
      SourceFiles::Network network = SourceFiles::Network::kMayAsk);

  /// For a worker, which runs beside others: takes no lock, keeps its own log in the directory `scratch`,
  /// which outlives it, and uses the digests in `work_package`. kInvalidArgument if the directory at the
  /// plan's path is not the plan's work directory.
  static Result<std::unique_ptr<Workspace>> Join(const WorkPackage& work_package, const std::string& scratch,
                                                 Progress& progress);

  /// For a follower (dag/records/job_position.h), which may run beside the leader: takes no lock and writes
  /// no log. All files that it writes are in hosts/`host` below `path`.
  static Result<std::unique_ptr<Workspace>> Follow(const std::string& path, int host, Progress& progress);

  /// Collects the snapshot for planning; hashes sources without a cached digest, which may take long and
  /// can be stopped.
  Result<Snapshot> TakeSnapshot(const Graph& graph, std::stop_token stop);

  const Environment& environment() const { return environment_; }
  RunLog& log() { return *log_; }
  /// All files whose digest TakeSnapshot asked for.
  const std::vector<WorkPackage::File>& hashed() const { return hashed_; }
  const WorkDir& directory() const { return directory_; }

 private:
  explicit Workspace(std::string path) : directory_(std::move(path)) {}
  /// `own`: the directory for files that only this process uses.
  void Init(const WorkDir& own, SourceFiles::Network network, Progress& progress);
  Result<SourceFile> Hash(const LocalInput& input, std::stop_token stop);
  /// Offline: an empty store instead of a remote one.
  Result<std::unique_ptr<Store>> OpenStoreAt(const std::string& uri);

  WorkDir directory_;
  std::unique_ptr<WorkLock> lock_;  // null: kLook or kRead, or a worker
  std::unique_ptr<RunLog> log_;
  std::unique_ptr<IntermediateFormat> intermediate_;
  std::unique_ptr<Store> root_;  // contains the digest cache
  std::unique_ptr<DigestCache> digests_;
  std::unique_ptr<SourceFiles> sources_;
  std::unique_ptr<StoreOpener> stores_;
  Mutex mutex_;
  std::set<std::string> not_asked_ GUARDED_BY(mutex_);  // locations already reported as not asked
  std::map<std::string, WorkPackage::File> known_;      // by path: digests that a worker was given
  std::vector<WorkPackage::File> hashed_;
  Environment environment_;
};

}  // namespace pipeline
