// Opens the store and the file at a location, by the table of schemes.
#pragma once

#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "storage/remote/scheme/remote_scheme.h"
#include "storage/store.h"

namespace pipeline {

/// Opens stores that share connections, an identity and its token. Safe from any thread.
class StoreOpener {
 public:
  explicit StoreOpener(StoreOptions options = {}) : options_(std::move(options)) {}

  /// Opens the store at a path or URI. Its existence and permissions are checked at the first use.
  /// kInvalidArgument if `uri` is not a location; fails as RemoteOpener::Prepare, for example if the
  /// credentials are bad.
  Result<std::unique_ptr<Store>> Open(std::string_view uri);
  /// The current file at a remote URI; kNotFound, or another error of the server.
  Result<RemoteFile> OpenFile(std::string_view uri, const RemoteAsk& ask, std::stop_token stop);
  /// As RemoteOpener::EndLeftUploads, for all schemes.
  Status EndLeftUploads();
  /// The opener of a location that is not local, created at the first call. Lives as long as this.
  RemoteOpener& OpenerOf(const Uri& location);

 private:
  RemoteOpener& OpenerOf(const RemoteScheme& scheme);

  const StoreOptions options_;
  Mutex mutex_;
  std::map<const Scheme*, std::unique_ptr<RemoteOpener>> openers_ GUARDED_BY(mutex_);
};

/// As StoreOpener::Open, with the shared opener of the process and the defaults above.
Result<std::unique_ptr<Store>> OpenStore(std::string_view uri);
/// As StoreOpener::OpenFile, with the shared opener. kFailedPrecondition with EncodedBody if a web server
/// encodes the file.
Result<RemoteFile> OpenRemoteFile(std::string_view uri, const RemoteAsk& ask, std::stop_token stop);
/// As RemoteOpener::OpenEncoded, with the shared opener.
Result<EncodedTransfer> OpenEncoded(const std::string& uri, const RemoteAsk& ask, const HttpFacts* wanted,
                                    std::stop_token stop);

/// Finds the URIs of all objects that match `pattern`, sorted by name; * and ? work within one part of the
/// path, as in a shell. An object named exactly like the pattern is the only match. kNotFound if none
/// matches.
Result<std::vector<std::string>> FindRemoteFiles(std::string_view pattern, std::stop_token stop);

}  // namespace pipeline
