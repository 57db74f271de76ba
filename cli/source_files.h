// The files that a pipeline reads, on this machine or elsewhere, as planning and units see them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "dag/plan.h"
#include "dag/progress.h"
#include "remote/arriving_file.h"
#include "remote/open_store.h"
#include "remote/polite_file.h"
#include "remote/rate_limit.h"
#include "storage/digest_cache.h"

namespace pipeline {

/// A file of this machine is read where it lies and counts by the digest of its bytes. One that is elsewhere
/// counts by its address, size and version; it arrives in a directory while it is read, and the next run goes
/// on where this one ended. One that is pinned to a checksum counts by that, wherever it is. Safe from any
/// thread.
class SourceFiles {
 public:
  enum class Network : std::uint8_t { kMayAsk, kOffline };

  /// `directory` is made when something arrives. `digests` and `progress` outlive it.
  SourceFiles(std::string directory, DigestCache& digests, Network network, Progress& progress);

  /// The objects that a pattern stands for. kUnavailable offline.
  Result<std::vector<LocalInput>> Find(const LocalInput& pattern, std::stop_token stop) const;
  /// What counts in recipes. Offline, what an earlier run wrote down of a remote file; kUnavailable where
  /// there was none. kDataLoss for a local file that is not what it is pinned to.
  Result<SourceFile> Look(const LocalInput& input, std::stop_token stop);
  /// Of a remote file: as it was when Look saw it, or fails with kDataLoss.
  Result<std::shared_ptr<ByteFile>> Open(const std::string& path, std::stop_token stop);
  /// As Environment::drop_damaged. Once for each state of a remote file, by whatever run: a note beside the
  /// part tells the next ones.
  Status DropDamaged(const std::string& path, const Status& why);
  Network network() const { return network_; }
  /// Size, mtime, inode and ctime; of a remote file what Open holds it to.
  Result<std::string> Identity(const std::string& path);
  /// Whether `file`, which had the identity `before`, has the same bytes still. Where ctime alone tells
  /// another, a local file is hashed again.
  Result<bool> IsUnchanged(const SourceFile& file, const std::string& before, std::stop_token stop);

 private:
  struct Remote {
    LocalInput input;  // as it was looked at
    std::string identity;
    std::uint64_t size = 0;
    bool is_dropped = false;  // what is here of it, before it is opened again
    bool came_anew = false;   // since it was dropped, perhaps by an earlier run
  };
  enum class Standing : std::uint8_t { kLast, kBeforeOthers };

  Status CheckPin(const LocalInput& input, const Digest& digest, std::stop_token stop) const;
  Result<SourceFile> LookAtLocal(const LocalInput& input, std::stop_token stop);
  Result<SourceFile> LookAtRemote(const LocalInput& input, std::stop_token stop);
  Result<Remote> LookAtPinned(const LocalInput& input, std::stop_token stop) const;
  std::optional<PartState> Journal(const LocalInput& input) const;
  Result<std::shared_ptr<ByteFile>> OpenRemote(const std::string& url, std::stop_token stop);
  Result<std::shared_ptr<ArrivingFile>> BeginPinned(const Remote& remote);
  Result<std::shared_ptr<ArrivingFile>> BeginVersion(const Remote& remote, const RemoteFile& found);
  Result<RemoteFile> Ask(const LocalInput& input, Patience patience, std::stop_token stop) const;
  std::unique_ptr<EncodedFile> Decoded(const LocalInput& input, std::vector<std::string> urls,
                                       std::optional<HttpFacts> wanted);
  std::shared_ptr<RateLimit> RateOf(const LocalInput& input);
  std::string PartPath(const LocalInput& input) const;
  Arrival ArrivalOf(const Remote& remote) const;
  /// `file` of `url`, read no faster and by no more than `input` says, and held to its least rate.
  std::shared_ptr<const RangedFile> Politely(std::shared_ptr<const RangedFile> file, const std::string& url,
                                             const LocalInput& input, Standing standing, bool may_reconnect);

  const std::string directory_;
  DigestCache& digests_;
  const Network network_;
  Progress& progress_;
  const std::shared_ptr<ServerGate> gate_ = std::make_shared<ServerGate>();
  Mutex rates_mutex_;
  std::map<std::uint64_t, std::shared_ptr<RateLimit>> rates_ GUARDED_BY(rates_mutex_);  // by bytes a second
  Mutex mutex_;
  std::map<std::string, Remote> remotes_ GUARDED_BY(mutex_);  // by URL, with its secrets
  /// By part file, shared by the units that read it now: what is pinned has one for all its addresses.
  std::map<std::string, std::weak_ptr<ArrivingFile>> arriving_ GUARDED_BY(mutex_);
};

}  // namespace pipeline
