#include "remote/open_store.h"

#include <chrono>
#include <utility>

#include "base/str.h"
#include "remote/gcs_store.h"
#include "remote/http_client.h"
#include "remote/http_file.h"
#include "remote/http_store.h"
#include "storage/local_store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

/// Somebody waits for the plan: a host that was mistyped should not take minutes to be told.
constexpr RetryPolicy kPlanPolicy{.first = std::chrono::milliseconds(500),
                                  .longest = std::chrono::milliseconds(2'000),
                                  .attempts = 3,
                                  .patience = std::chrono::milliseconds(4'000)};

/// A metadata server is near or not there.
constexpr HttpLimits kNear{std::chrono::milliseconds(3'000), std::chrono::milliseconds(10'000), 0};

/// The one of the process, shared by all its stores: a connection that one has left is of use to the next.
std::shared_ptr<HttpClient> SharedHttpClient() {
  static const std::shared_ptr<HttpClient> client = NewHttpClient();
  return client;
}

/// The object as it is now, held to this generation.
Result<RemoteFile> OpenObject(const Uri& place) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> bucket, OpenStore(StrCat("gs://", place.authority)));
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> before, bucket->Stat(place.path));
  if (!before) return Status(Code::kNotFound, StrCat(place.ToString(), ": there is no such object"));
  ASSIGN_OR_RETURN(std::unique_ptr<ByteFile> file, bucket->Open(place.path));
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> after, bucket->Stat(place.path));
  if (!after || after->version != before->version)
    return Status(Code::kUnavailable,
                  StrCat(place.ToString(), ": changed while it was opened; run it again"));
  return RemoteFile{std::move(file), before->version, before->crc32c};
}

}  // namespace

Result<std::shared_ptr<GcsClient>> StoreOpener::Gcs() {
  const std::scoped_lock lock(mutex_);  // also while credentials are looked for: the others need them too
  if (gcs_) return gcs_;
  GcsSettings settings;
  settings.user_project = options_.user_project;
  if (settings.user_project.empty())
    settings.user_project = options_.environment(kUserProjectName).value_or("");
  settings.means = options_.means;
  ASSIGN_OR_RETURN(settings.endpoint, FindGcsEndpoint(options_.environment));
  std::shared_ptr<HttpClient> http = SharedHttpClient();
  const GcsTokenTools tools{http, NewHttpClient(kNear)};
  std::optional<GcsCredentials> credentials = options_.credentials;
  if (!credentials) {
    ASSIGN_OR_RETURN(credentials, FindGcsCredentials(options_.environment, settings.endpoint, tools));
  }
  gcs_ = std::make_shared<GcsClient>(std::move(settings), std::move(http),
                                     std::make_shared<GcsAuth>(*std::move(credentials), tools));
  return gcs_;
}

Result<std::unique_ptr<Store>> StoreOpener::Open(std::string_view uri) {
  ASSIGN_OR_RETURN(const Uri place, Uri::Parse(uri));
  switch (place.scheme) {
    case Uri::Scheme::kFile: return std::unique_ptr<Store>(std::make_unique<LocalStore>(place.path));
    case Uri::Scheme::kGs: {
      Result<std::shared_ptr<GcsClient>> client = Gcs();
      if (!client.ok()) return std::move(client).status().Annotate(uri);
      return std::unique_ptr<Store>(std::make_unique<GcsStore>(
          std::move(client).value(), place.authority, place.path, GcsWriterOptions{.spool = options_.spool}));
    }
    case Uri::Scheme::kHttp:
    case Uri::Scheme::kHttps:
      return std::unique_ptr<Store>(std::make_unique<HttpStore>(SharedHttpClient(), place));
  }
  return Status(Code::kInternal, StrCat(uri, ": a scheme without a store"));
}

Result<std::unique_ptr<Store>> OpenStore(std::string_view uri) {
  static StoreOpener opener;  // one identity and its token for the whole process
  return opener.Open(uri);
}

Result<RemoteFile> OpenRemoteFile(std::string_view uri, Patience patience, std::stop_token stop) {
  ASSIGN_OR_RETURN(const Uri place, Uri::Parse(uri));
  if (place.scheme == Uri::Scheme::kFile)
    return Status(Code::kInvalidArgument, StrCat(uri, ": is on this machine"));
  if (place.scheme == Uri::Scheme::kGs) return OpenObject(place);
  RetryMeans means;
  if (patience == Patience::kPlan) means.policy = kPlanPolicy;
  ASSIGN_OR_RETURN(std::shared_ptr<HttpFile> file,
                   HttpFile::Open(SharedHttpClient(), place.ToString(), means, std::move(stop)));
  std::string version = file->facts().Version();
  return RemoteFile{std::move(file), std::move(version), {}};
}

}  // namespace pipeline
