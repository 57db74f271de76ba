// The URIs of open upload sessions, in one file of mode 0600, because such a URI allows writing. A killed
// process leaves its sessions there; another process resumes or cancels them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "storage/remote/http/secret.h"
#include "storage/remote/http/spool.h"

namespace pipeline {

/// Identifies an upload, so that another process can resume it. Empty: none can.
struct UploadKey {
  std::string target;  // of the object: its server, bucket and name
  std::string source;  // of one state of a file, and of the generation that the upload replaces

  bool empty() const { return target.empty(); }
};

/// A session that another process left and this one took over.
struct TakenSession {
  std::string id;  // argument of End
  Secret uri;
  std::vector<SpoolSum> sums;  // as Note recorded them
};

/// A line of the file is "ID URI", or "ID URI TARGET SOURCE STARTED" for a session that another process may
/// resume: two digests in hex, and seconds since 1970; then optionally checksums of the front of the
/// source, "BYTES:CRC32C,…" in decimal. ID is a name of storage/local_names.h for `session`. Other lines
/// are ignored. The file is empty if no session is open. Safe from any thread and with other processes of
/// the machine.
class UploadSessions {
 public:
  /// `path`: of the file; its directory is created when needed.
  explicit UploadSessions(std::string path) : path_(std::move(path)) {}

  /// Records a session before anything is sent to it; returns the argument of End.
  Result<std::string> Begin(const Secret& uri, const UploadKey& key = {});
  /// Replaces the recorded checksums of the front of the source; a process that resumes need not read that
  /// front again.
  Status Note(std::string_view id, const std::vector<SpoolSum>& sums);
  Status End(std::string_view id);
  /// Leaves the session open for the next upload of the same source, in this process or another.
  Status Leave(std::string_view id);
  /// Takes over a session with this key that was left or whose process has ended. Sessions to the same
  /// target from another source are removed from the file and added to `others`, because nobody will resume
  /// them.
  Result<std::optional<TakenSession>> TakeOver(const UploadKey& key, std::vector<Secret>& others);
  /// Returns whether any session is recorded, of whatever process.
  Result<bool> HasAny();
  /// Removes the sessions of ended processes from the file and returns them. Resumable ones are kept for
  /// six days, because the server keeps them for seven.
  Result<std::vector<Secret>> TakeAbandoned();

 private:
  const std::string path_;
  Mutex mutex_;  // serialises the threads of this process
};

}  // namespace pipeline
