// The source files of a pipeline, local or remote, for planning and for units.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "dag/pipeline_file/source_file.h"
#include "dag/progress.h"
#include "storage/digest_cache.h"
#include "storage/remote/http/arriving_file.h"
#include "storage/remote/http/rate_limit.h"
#include "storage/remote/http/rate_limited_file.h"
#include "storage/remote/open_store.h"

namespace pipeline {

/// The front of the bytes whose digest stands for a remote or a pinned file in recipes.
inline constexpr std::string_view kRemoteFileKind = "remote file 1\n", kPinnedFileKind = "pinned file 1\n";

/// A local file is read in place and identified by the digest of its bytes. A remote file is identified by
/// its address, size and version; it is downloaded to a directory while it is read, and the next run
/// resumes the download. A pinned file is identified by its checksum, wherever it is. Safe from any thread.
class SourceFiles {
 public:
  enum class Network : std::uint8_t { kMayAsk, kOffline };

  /// `directory` is created at the first download. `digests` and `progress` outlive it.
  SourceFiles(std::string directory, DigestCache& digests, Network network, Progress& progress);

  /// The objects that match a pattern. kUnavailable offline.
  Result<std::vector<LocalInput>> Find(const LocalInput& pattern, std::stop_token stop) const;
  /// The facts used in recipes. Offline, a remote file's facts come from the journal of an earlier run;
  /// kUnavailable if there is none. kDataLoss if a local file does not match its pin.
  Result<SourceFile> Look(const LocalInput& input, std::stop_token stop);
  /// Opens a file. A remote file must be as Look saw it; otherwise kDataLoss. The bytes of a local one are
  /// compared with those that were hashed (CheckedFile); if they differ: SourceChanged.
  Result<std::shared_ptr<ByteFile>> Open(const std::string& path, std::stop_token stop);
  /// As Environment::drop_damaged. Works once per state of a remote file, over all runs: a note beside the
  /// part file records it.
  Status DropDamaged(const std::string& path, const Status& why, const std::function<void()>& before);
  Network network() const { return network_; }
  /// Size, mtime, inode and ctime; for a remote file, the identity that Open requires.
  Result<std::string> Identity(const std::string& path);
  /// True if `file`, which had the identity `before`, still has the same bytes. If only ctime differs, a
  /// local file is hashed again.
  Result<bool> IsUnchanged(const SourceFile& file, const std::string& before, std::stop_token stop);

 private:
  struct Remote {
    LocalInput input;  // as given to Look
    std::string identity;
    std::uint64_t size = 0;
    bool is_dropped = false;   // the bytes here must be dropped before it is opened again
    bool came_anew = false;    // downloaded again since it was dropped, perhaps by an earlier run
    bool has_changed = false;  // dropped in this run, because the server has other bytes now
  };
  enum class Position : std::uint8_t { kLast, kBeforeOthers };

  Status CheckPin(const LocalInput& input, const Digest& digest, std::stop_token stop) const;
  Result<SourceFile> LookAtLocal(const LocalInput& input, std::stop_token stop);
  Result<SourceFile> LookAtRemote(const LocalInput& input, std::stop_token stop);
  Result<Remote> LookAtPinned(const LocalInput& input, std::stop_token stop) const;
  std::optional<PartState> Journal(const LocalInput& input) const;
  Result<std::shared_ptr<ByteFile>> OpenRemote(const std::string& url, std::stop_token stop);
  Result<std::shared_ptr<ArrivingFile>> Share(const std::string& url, const RemoteFile& found);
  Result<std::shared_ptr<ArrivingFile>> BeginPinned(const Remote& remote);
  Result<std::shared_ptr<ArrivingFile>> BeginVersion(const Remote& remote, const RemoteFile& found);
  Result<RemoteFile> Ask(const LocalInput& input, Patience patience, std::stop_token stop) const;
  std::unique_ptr<EncodedFile> Decoded(const LocalInput& input, std::vector<std::string> urls,
                                       std::optional<HttpFacts> wanted);
  std::shared_ptr<RateLimit> RateOf(const LocalInput& input);
  std::string PartPath(const LocalInput& input) const;
  Download DownloadOf(const Remote& remote) const;
  /// Wraps `file` of `url`: limits its rate and connections as `input` says, and enforces the minimum rate.
  std::shared_ptr<const RangedFile> RateLimited(std::shared_ptr<const RangedFile> file,
                                                const std::string& url, const LocalInput& input,
                                                Position position, bool may_reconnect);

  const std::string directory_;
  DigestCache& digests_;
  const Network network_;
  Progress& progress_;
  const std::shared_ptr<ServerGate> gate_ = std::make_shared<ServerGate>();
  Mutex rates_mutex_;
  std::map<std::uint64_t, std::shared_ptr<RateLimit>> rates_ GUARDED_BY(rates_mutex_);  // by bytes a second
  Mutex mutex_;
  std::map<std::string, Remote> remotes_ GUARDED_BY(mutex_);  // by URL, including its secrets
  /// By part file, shared by the units that are reading it: a pinned file has one for all its addresses.
  std::map<std::string, std::weak_ptr<ArrivingFile>> arriving_ GUARDED_BY(mutex_);
};

}  // namespace pipeline
