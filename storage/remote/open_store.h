// Opens the Store at a location named in a pipeline file.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "storage/remote/gcs/gcs_auth.h"
#include "storage/remote/gcs/gcs_client.h"
#include "storage/remote/http/encoded_file.h"
#include "storage/remote/http/environment.h"
#include "storage/remote/http/http_facts.h"
#include "storage/remote/http/ranged_file.h"
#include "storage/store.h"

namespace pipeline {

struct StoreOptions {
  std::string spool = {};  // directory for uploads to a bucket; empty: OwnSpool of the environment
  /// Billed for requests to requester-pays buckets; empty: PIPE_USER_PROJECT of the environment, if any.
  std::string user_project = {};
  RetryMeans means = {};  // for requests to buckets; its clock and pause outlive the stores
  EnvironmentLookup environment = ProcessEnvironment();
  /// Absent: those of the environment.
  std::optional<GcsCredentials> credentials = std::nullopt;
};

/// Opens stores that share connections, an identity and its token. Safe from any thread.
class StoreOpener {
 public:
  explicit StoreOpener(StoreOptions options = {}) : options_(std::move(options)) {}

  /// Opens the store at a path, a `file://`, gs:// or http(s) URI. Its existence and permissions are
  /// checked at the first use. kInvalidArgument if `uri` is not a location; fails as FindGcsCredentials if
  /// the credentials are bad. Without credentials, public objects can be read.
  Result<std::unique_ptr<Store>> Open(std::string_view uri);
  /// The client for all buckets, created at the first call.
  Result<std::shared_ptr<GcsClient>> Gcs();

 private:
  const StoreOptions options_;
  Mutex mutex_;
  std::shared_ptr<GcsClient> gcs_ GUARDED_BY(mutex_);  // shared with the stores; null before the first bucket
};

/// As StoreOpener::Open, with the shared opener of the process and the defaults above.
Result<std::unique_ptr<Store>> OpenStore(std::string_view uri);

/// A remote file. Reading resumes by itself, and fails once the file has another version.
struct RemoteFile {
  std::shared_ptr<const RangedFile> bytes;
  std::string version;                  // empty: versions cannot be told apart
  std::optional<std::uint32_t> crc32c;  // of the whole file; absent: the store does not say
  bool takes_ranges = false;            // the server says so
  std::optional<HttpFacts> facts = {};  // of a web server
};
/// The current file at an http(s) or gs:// URI; kNotFound, or another error of the server. `patience`
/// limits how long a silent server is asked again.
enum class Patience : std::uint8_t {
  kPlan,  // a user waits for the plan
  kNext,  // another address follows
  kRun,
};
struct RemoteAsk {
  Patience patience = Patience::kRun;
  std::chrono::milliseconds stall{0};          // as HttpRequest::stall
  std::chrono::milliseconds silence{900'000};  // kRun: gives up after this long without a byte
  /// Size of a file that the caller checks at its end: no request is sent before the first read, see
  /// HttpFile::Pinned.
  std::optional<std::uint64_t> pinned_size = {};
};
/// kFailedPrecondition with EncodedBody if a web server encodes the file.
Result<RemoteFile> OpenRemoteFile(std::string_view uri, const RemoteAsk& ask, std::stop_token stop);
/// Makes one attempt to get the whole file at an http(s) URI, with any encoding that the server likes.
/// `wanted`: the metadata at planning time, kDataLoss if it changed; null: not checked.
Result<EncodedTransfer> OpenEncoded(const std::string& uri, const RemoteAsk& ask, const HttpFacts* wanted,
                                    std::stop_token stop);
/// How often, and how long, a server is asked.
RetryPolicy PolicyOf(const RemoteAsk& ask);

/// Finds the gs:// URIs of all objects that match `pattern`, sorted by name; * and ? work within one part
/// of the path, as in a shell. An object named exactly like the pattern is the only match. kNotFound if
/// none matches.
Result<std::vector<std::string>> FindRemoteFiles(std::string_view pattern, std::stop_token stop);

}  // namespace pipeline
