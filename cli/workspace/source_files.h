// The source files of a pipeline, local or remote, for planning and for units.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "dag/pipeline_file/source_file.h"
#include "dag/progress.h"
#include "storage/digest_cache.h"
#include "storage/remote/download/source_download.h"

namespace pipeline {

/// The front of the bytes whose digest stands for a remote or a pinned file in recipes.
inline constexpr std::string_view kRemoteFileKind = "remote file 1\n", kPinnedFileKind = "pinned file 1\n";

/// A local file is read in place and identified by the digest of its bytes, a remote file as SourceDownload
/// says. A pinned file is identified by its checksum, wherever it is. Safe from any thread.
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
  /// As Environment::drop_damaged, by SourceDownload::DropDamaged.
  Status DropDamaged(const std::string& path, const Status& why, const std::function<void()>& before);
  Network network() const { return network_; }
  /// Size, mtime, inode and ctime; for a remote file, the identity that Open requires.
  Result<std::string> Identity(const std::string& path);
  /// True if `file`, which had the identity `before`, still has the same bytes. If only ctime differs, a
  /// local file is hashed again.
  Result<bool> IsUnchanged(const SourceFile& file, const std::string& before, std::stop_token stop);

 private:
  Status CheckPin(const LocalInput& input, const Digest& digest, std::stop_token stop) const;
  Result<SourceFile> LookAtLocal(const LocalInput& input, std::stop_token stop);
  Result<SourceFile> LookAtRemote(const LocalInput& input, std::stop_token stop);
  /// The download of a remote file that Look has seen; otherwise kInternal.
  Result<std::shared_ptr<SourceDownload>> DownloadOf(const std::string& url);

  DigestCache& digests_;
  const Network network_;
  Progress& progress_;
  SharedDownloads downloads_;
  Mutex mutex_;
  /// By URL, including its secrets.
  std::map<std::string, std::shared_ptr<SourceDownload>> remotes_ GUARDED_BY(mutex_);
};

}  // namespace pipeline
