// The files that a pipeline reads, on this machine or elsewhere, as planning and units see them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dag/plan.h"
#include "remote/arriving_file.h"
#include "storage/digest_cache.h"

namespace pipeline {

/// A file of this machine is read where it lies and counts by the digest of its bytes. One that is elsewhere
/// counts by its address, size and version; it arrives in a directory while it is read, and the next run goes
/// on where this one ended. Safe from any thread.
class SourceFiles {
 public:
  enum class Network : std::uint8_t { kMayAsk, kOffline };
  using Note = std::function<void(std::string_view line)>;

  /// `directory` is made when something arrives. `digests` outlives it.
  SourceFiles(std::string directory, DigestCache& digests, Network network, Note note);

  /// What counts in recipes. Offline, what an earlier run wrote down of a remote file; kUnavailable where
  /// there was none.
  Result<SourceFile> Look(const LocalInput& input, std::stop_token stop);
  /// Of a remote file: as it was when Look saw it, or fails with kDataLoss.
  Result<std::shared_ptr<ByteFile>> Open(const std::string& path, std::stop_token stop);
  Network network() const { return network_; }
  /// Size, mtime and inode; of a remote file what Open holds it to.
  Result<std::string> Identity(const std::string& path);

 private:
  struct Remote {
    std::string identity;
    std::uint64_t size = 0;
    std::weak_ptr<ArrivingFile> arriving;  // shared by the units that read it now
  };

  Result<SourceFile> LookAtRemote(const LocalInput& input, std::stop_token stop);
  Result<Remote> Remembered(const std::string& url) const;
  Result<std::shared_ptr<ByteFile>> OpenRemote(const std::string& url, std::stop_token stop);
  std::function<void(std::uint64_t, std::uint64_t)> Teller(std::string name) const;

  const std::string directory_;
  DigestCache& digests_;
  const Network network_;
  const Note note_;
  std::mutex mutex_;                       // for what follows
  std::map<std::string, Remote> remotes_;  // by URL, with its secrets
};

}  // namespace pipeline
