// Opens a workspace for one command: lock, log, stores, and the environment that uses them.
#pragma once

#include <chrono>
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
#include "cli/workspace/work_place.h"
#include "dag/books/work_dir.h"
#include "dag/environment.h"
#include "dag/home/home.h"
#include "dag/package/work_package.h"
#include "dag/pipeline_file/graph.h"
#include "dag/plan/snapshot.h"
#include "storage/cache/object_cache.h"
#include "storage/digest_cache.h"
#include "storage/remote/open_store.h"

namespace pipeline {

class Workspace {
 public:
  ~Workspace();

  /// kLook: as kRead, but stores no digests if the work directory does not exist yet.
  enum class Access : std::uint8_t { kLook, kRead, kWrite };

  /// kWrite: creates the directory and takes its lock, and the lease of a home in a bucket
  /// (kFailedPrecondition: another run holds it). A home is asked for its log whatever `network` is. `stop`
  /// ends the wait for its last holder.
  static Result<std::unique_ptr<Workspace>> Open(const WorkPlace& place, Access access, Progress& progress,
                                                 SourceFiles::Network network = SourceFiles::Network::kMayAsk,
                                                 std::stop_token stop = {});

  /// For a worker, which runs beside others: takes no lock, keeps its own log in the directory `scratch`,
  /// which outlives it, and uses the digests in `work_package`. With a home in a bucket, all workers below
  /// the directory above `scratch` share a cache there. kInvalidArgument if the work directory or home is not
  /// that of the plan.
  static Result<std::unique_ptr<Workspace>> Join(const WorkPackage& work_package, const std::string& scratch,
                                                 Progress& progress);

  /// For a follower (dag/records/job_position.h), which may run beside the leader: takes no lock and writes
  /// no log. All files that it writes are in hosts/`host` below the directory of `place` on this machine.
  static Result<std::unique_ptr<Workspace>> Follow(const WorkPlace& place, int host, Progress& progress);

  /// Collects the snapshot for planning, and chooses the reading rules by it; hashes sources without a cached
  /// digest, which may take long and can be stopped.
  Result<Snapshot> TakeSnapshot(const Graph& graph, PipelineSpec& spec, std::stop_token stop);

  /// From now on TakeSnapshot reads all local files, whatever is known of them.
  void ReadAllSources() { digests_->ReadAll(); }
  /// The local file at this real path has other bytes than its digest says, and the same size and times.
  void Forget(const std::string& real_path) { digests_->Forget(real_path); }
  /// The local files that this process has taken by their sizes and times, and has not read again as a whole.
  ByTimesAlone NotRead() { return digests_->NotRead(); }

  /// Ends the uploads to buckets that dead processes of this work directory left open.
  Status EndLeftUploads() const { return stores_->EndLeftUploads(); }

  const Environment& environment() const { return environment_; }
  RunLog& log() { return *log_; }
  /// All files whose digest TakeSnapshot asked for.
  const std::vector<WorkPackage::File>& hashed() const { return hashed_; }
  /// The work directory; of a home in a bucket, its scratch.
  const WorkDir& directory() const { return directory_; }
  /// The path of the work directory, or the URI of the home.
  const std::string& home() const { return place_.home; }

 private:
  explicit Workspace(WorkPlace place);
  /// Call it before anything is opened that is not on this machine. `own` is as for Init.
  void OpenStores(const WorkDir& own);
  Status OpenLog(Access access);
  /// For a home in a bucket: opens its log. kWrite: holds it.
  Status OpenHome(Access access, Progress& progress, std::stop_token stop);
  Result<std::unique_ptr<Store>> OpenWorkStore(const std::string& below);
  /// `own`: the directory for files that only this process uses.
  void Init(const WorkDir& own, SourceFiles::Network network, Progress& progress);
  Result<SourceFile> Hash(const LocalInput& input, std::stop_token stop);
  /// Offline: an empty store instead of a remote one.
  Result<std::unique_ptr<Store>> OpenStoreAt(const std::string& uri);

  const WorkPlace place_;
  const WorkDir directory_;
  std::unique_ptr<WorkLock> lock_;  // null: kLook or kRead, or a worker
  std::unique_ptr<StoreOpener> stores_;
  std::unique_ptr<ObjectCache> cache_;  // null: objects are not cached
  std::unique_ptr<Home> home_;          // null: as lock_, or a directory
  std::unique_ptr<RunLog> log_;         // ends before home_
  std::unique_ptr<IntermediateFormat> intermediate_;
  std::unique_ptr<Store> root_;  // contains the digest cache
  std::unique_ptr<DigestCache> digests_;
  std::unique_ptr<SourceFiles> sources_;
  Mutex mutex_;
  std::set<std::string> not_asked_ GUARDED_BY(mutex_);  // locations already reported as not asked
  std::map<std::string, WorkPackage::File> known_;      // by path: digests that a worker was given
  std::vector<WorkPackage::File> hashed_;
  Environment environment_;
};

/// Returns the value of a variable in seconds, from 0.1 to 60; `usual` if it is not set.
Result<std::chrono::milliseconds> PeriodFromEnvironment(const char* name, std::chrono::milliseconds usual);

/// Returns the period of signs of life, the value of PIPE_LEASE, in seconds from 0.1 to 60; 15 s if it is not
/// set.
Result<std::chrono::milliseconds> LeasePeriodFromEnvironment();

/// Removes what runs that were killed left on this machine: temporaries of dead processes
/// (storage/local_names.h) in the work directory and beside the artifacts of `graph` on this machine, the
/// upload sessions that they left open, and the locations of recipes at which nothing was made. The workspace
/// was opened to write. A failure is a warning: what stays harms nobody, and the next run tries again.
void RemoveLeftBehind(const Workspace& workspace, const Graph& graph);

}  // namespace pipeline
