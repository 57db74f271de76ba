// From a place as it stands in a pipeline file to a Store.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "storage/gcs_auth.h"
#include "storage/gcs_client.h"
#include "storage/store.h"

namespace pipeline {

struct StoreOptions {
  std::string spool = "/var/tmp/pipe-spool";  // for what is on its way to a bucket
  std::string user_project = {};              // pays for requests to buckets whose owner does not
  EnvironmentLookup environment = ProcessEnvironment();
  /// Absent: as the environment has them.
  std::optional<GcsCredentials> credentials = std::nullopt;
};

/// Opens stores that share connections, an identity and its token. Safe from any thread.
class StoreOpener {
 public:
  explicit StoreOpener(StoreOptions options = {}) : options_(std::move(options)) {}

  /// The store rooted at a path, a `file://`, gs:// or http(s) URI; whether it is there, and can be written
  /// to, shows at the first use. Fails with kInvalidArgument for what is no place; where credentials are
  /// missing or bad, as FindGcsCredentials.
  Result<std::unique_ptr<Store>> Open(std::string_view uri);
  /// What all buckets are reached by, looked for at the first call.
  Result<std::shared_ptr<GcsClient>> Gcs();

 private:
  const StoreOptions options_;
  std::mutex mutex_;
  std::shared_ptr<GcsClient> gcs_;  // shared with the stores; null before the first bucket
};

/// The same by an opener of its own.
Result<std::unique_ptr<Store>> OpenStore(std::string_view uri);

}  // namespace pipeline
