// A work directory opened for one command: lock, log, stores, and the environment made of them.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "cli/pipeline_loader.h"
#include "cli/source_files.h"
#include "dag/environment.h"
#include "dag/gather_facts.h"
#include "dag/hand_out.h"
#include "dag/lock.h"
#include "dag/work_dir.h"
#include "remote/open_store.h"
#include "storage/digest_cache.h"

namespace pipeline {

class Workplace {
 public:
  /// kLook: as kRead, and what it hashes is not written down where there is no work directory yet.
  enum class Access : std::uint8_t { kLook, kRead, kWrite };

  /// With kWrite: makes the directory and takes its lock (kFailedPrecondition where another run has it).
  static Result<std::unique_ptr<Workplace>> Open(
      const std::string& path, Access access, Progress& progress,
      SourceFiles::Network network = SourceFiles::Network::kMayAsk);

  /// For a worker: beside others, without the lock, with a log of its own in the directory `scratch`, which
  /// outlives it, and with the digests of files that `hand_out` has. kInvalidArgument where the work
  /// directory of the plan is not the one that lies here under its path.
  static Result<std::unique_ptr<Workplace>> Join(const HandOut& hand_out, const std::string& scratch,
                                                 Progress& progress);

  /// Facts for planning; hashes sources that no cache knows, which may take a while and be stopped.
  Result<Facts> Gather(const Graph& graph, std::stop_token stop);

  const Environment& environment() const { return environment_; }
  RunLog& log() { return *log_; }
  /// Every file that Gather asked for the digest of.
  const std::vector<HandOut::File>& hashed() const { return hashed_; }
  const WorkDir& directory() const { return directory_; }

 private:
  explicit Workplace(std::string path) : directory_(std::move(path)) {}
  /// `own`: where what nobody else sees may lie.
  void Furnish(const WorkDir& own, SourceFiles::Network network, Progress& progress);
  Result<SourceFile> Hash(const LocalInput& input, std::stop_token stop);
  /// Offline an empty one in the place of what is elsewhere.
  Result<std::unique_ptr<Store>> OpenStoreAt(const std::string& uri);

  WorkDir directory_;
  std::unique_ptr<WorkLock> lock_;  // null with kRead
  std::unique_ptr<RunLog> log_;
  std::unique_ptr<IntermediateFormat> intermediate_;
  std::unique_ptr<Store> root_;  // holds the cache of digests
  std::unique_ptr<DigestCache> digests_;
  std::unique_ptr<SourceFiles> sources_;
  std::unique_ptr<StoreOpener> stores_;
  Mutex mutex_;
  std::set<std::string> not_asked_ GUARDED_BY(mutex_);  // places that were said not to be
  std::map<std::string, HandOut::File> known_;          // by path: what a worker was told
  std::vector<HandOut::File> hashed_;
  Environment environment_;
};

}  // namespace pipeline
