#include "storage/open_store.h"

#include "base/str.h"
#include "storage/gcs_store.h"
#include "storage/http_store.h"
#include "storage/local_store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

/// A metadata server is near or not there.
constexpr HttpLimits kNear{std::chrono::milliseconds(3'000), std::chrono::milliseconds(10'000), 0};

/// The one of the process, shared by all its stores: a connection that one has left is of use to the next.
std::shared_ptr<HttpClient> SharedHttpClient() {
  static const std::shared_ptr<HttpClient> client = NewHttpClient();
  return client;
}

}  // namespace

Result<std::shared_ptr<GcsClient>> StoreOpener::Gcs() {
  const std::scoped_lock lock(mutex_);  // also while credentials are looked for: the others need them too
  if (gcs_) return gcs_;
  GcsSettings settings;
  settings.user_project = options_.user_project;
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

Result<std::unique_ptr<Store>> OpenStore(std::string_view uri) { return StoreOpener().Open(uri); }

}  // namespace pipeline
