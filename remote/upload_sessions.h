// The URIs of upload sessions that are open, in one file of mode 0600: whoever has such a URI can write. A
// process that was killed leaves them there for another one, which goes on with them or ends them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "remote/secret.h"
#include "remote/spool.h"

namespace pipeline {

/// What an upload is of, so that another process can go on with it. Empty: none can.
struct UploadKey {
  std::string target;  // names the object: its server, bucket and name
  std::string source;  // names one state of a file, and the generation that the upload replaces

  bool empty() const { return target.empty(); }
};

/// A session that was left, and is ours now.
struct TakenSession {
  std::string id;  // what to call End with
  Secret uri;
  std::vector<SpoolSum> sums;  // as they were noted
};

/// A line of the file is "ID URI", or "ID URI TARGET SOURCE STARTED" for a session that another process may
/// go on with: two digests in hex, and seconds since 1970; behind them may stand checksums of the front of
/// the source, "BYTES:CRC32C,…" in decimal. ID is a name of storage/local_names.h for `session`. What is no
/// such line is left out. Empty when no session is open. Safe from any thread and beside other processes of
/// one machine.
class UploadSessions {
 public:
  /// `path`: of the file, whose directory is made when it is needed.
  explicit UploadSessions(std::string path) : path_(std::move(path)) {}

  /// Notes a session before anything is sent to it; what to call End with.
  Result<std::string> Begin(const Secret& uri, const UploadKey& key = {});
  /// The checksums of the front of the source, for whoever goes on with the session and cannot read all of
  /// that again; in place of those that were noted before.
  Status Note(std::string_view id, const std::vector<SpoolSum>& sums);
  Status End(std::string_view id);
  /// The session stays open for whoever uploads the same next, in this process or another.
  Status Leave(std::string_view id);
  /// A session with this key that was left, or whose process is gone. Those to the same target that are of
  /// another source are taken out, and put into `others`: nobody will go on with them.
  Result<std::optional<TakenSession>> TakeOver(const UploadKey& key, std::vector<Secret>& others);
  /// Takes out the sessions of processes that are gone, but for those that may be gone on with: for six days,
  /// since the server keeps them for seven.
  Result<std::vector<Secret>> TakeAbandoned();

 private:
  const std::string path_;
  Mutex mutex_;  // one of this process at a time at the file
};

}  // namespace pipeline
