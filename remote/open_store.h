// From a place as it stands in a pipeline file to a Store.
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
#include "remote/encoded_file.h"
#include "remote/gcs_auth.h"
#include "remote/gcs_client.h"
#include "remote/http_facts.h"
#include "remote/ranged_file.h"
#include "storage/store.h"

namespace pipeline {

struct StoreOptions {
  std::string spool = {};  // for what is on its way to a bucket; empty: OwnSpool of the environment
  /// Pays for requests to buckets whose owner does not; empty: PIPE_USER_PROJECT of the environment, if any.
  std::string user_project = {};
  RetryMeans means = {};  // of requests to buckets; whose clock and pause outlive the stores
  EnvironmentLookup environment = ProcessEnvironment();
  /// Absent: as the environment has them.
  std::optional<GcsCredentials> credentials = std::nullopt;
};

/// Whose word certificates are believed by, where people say it for curl and for OpenSSL; empty: nowhere.
std::string FindCaFile(const EnvironmentLookup& environment);

/// A directory for this user alone, $TMPDIR/pipe-spool-UID, in /var/tmp where nobody named one. Whoever puts
/// something into it has it made by MakeOwnDirectory.
std::string OwnSpool(const EnvironmentLookup& environment);

/// Opens stores that share connections, an identity and its token. Safe from any thread.
class StoreOpener {
 public:
  explicit StoreOpener(StoreOptions options = {}) : options_(std::move(options)) {}

  /// The store rooted at a path, a `file://`, gs:// or http(s) URI; whether it is there, and can be written
  /// to, shows at the first use. Fails with kInvalidArgument for what is no place; where credentials are bad,
  /// as FindGcsCredentials. Where there are none, what is public can be read.
  Result<std::unique_ptr<Store>> Open(std::string_view uri);
  /// What all buckets are reached by, looked for at the first call.
  Result<std::shared_ptr<GcsClient>> Gcs();

 private:
  const StoreOptions options_;
  Mutex mutex_;
  std::shared_ptr<GcsClient> gcs_ GUARDED_BY(mutex_);  // shared with the stores; null before the first bucket
};

/// The same by the one opener of the process, with the defaults above.
Result<std::unique_ptr<Store>> OpenStore(std::string_view uri);

/// One file that is somewhere else. Reading it resumes by itself, and fails once it is another version.
struct RemoteFile {
  std::shared_ptr<const RangedFile> bytes;
  std::string version;                  // empty: nothing tells one version from another
  std::optional<std::uint32_t> crc32c;  // of the whole; absent where the place does not say
  bool takes_ranges = false;            // its server says so
  std::optional<HttpFacts> facts = {};  // of a web server
};
/// What is at an http(s) or gs:// URI now. kNotFound, and whatever else the place answers; a place that does
/// not answer is asked again for so long as `patience` says.
enum class Patience : std::uint8_t {
  kPlan,  // somebody waits for the plan
  kNext,  // another address stands behind this one
  kRun,
};
struct RemoteAsk {
  Patience patience = Patience::kRun;
  std::chrono::milliseconds stall{0};          // as HttpRequest::stall
  std::chrono::milliseconds silence{900'000};  // kRun: given up after so long without a byte
  /// Somebody checks the bytes at their end: a web server is asked nothing before, and the file is as
  /// HttpFile::Pinned.
  std::optional<std::uint64_t> pinned_size = {};
};
/// kFailedPrecondition with EncodedBody where a web server sends it encoded.
Result<RemoteFile> OpenRemoteFile(std::string_view uri, const RemoteAsk& ask, std::stop_token stop);
/// One attempt at all of the file at an http(s) URI, encoded as its server likes. `wanted`: as it was when it
/// was planned, and else kDataLoss; null: whatever it is.
Result<EncodedTransfer> OpenEncoded(const std::string& uri, const RemoteAsk& ask, const HttpFacts* wanted,
                                    std::stop_token stop);
/// How often, and how long, a server is asked.
RetryPolicy PolicyOf(const RemoteAsk& ask);

/// The gs:// URIs of all objects that `pattern` describes, by name: in each part of the path * and ? stand
/// for what they do in a shell. One that has the pattern itself as its name is it. kNotFound where there is
/// none.
Result<std::vector<std::string>> FindRemoteFiles(std::string_view pattern, std::stop_token stop);

}  // namespace pipeline
