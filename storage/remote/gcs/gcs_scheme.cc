#include "storage/remote/gcs/gcs_scheme.h"

#include <utility>

#include "base/log.h"
#include "base/mutex.h"
#include "base/str.h"
#include "storage/directory.h"
#include "storage/remote/gcs/gcs_auth.h"
#include "storage/remote/gcs/gcs_checkup.h"
#include "storage/remote/gcs/gcs_client.h"
#include "storage/remote/gcs/gcs_location.h"
#include "storage/remote/gcs/gcs_reader.h"
#include "storage/remote/gcs/gcs_store.h"
#include "storage/remote/http/http_client.h"

namespace pipeline {

namespace {

/// The client for all buckets is created at the first use.
class GcsOpener final : public RemoteOpener {
 public:
  explicit GcsOpener(const StoreOptions& options) : options_(options) {}

  Status Prepare() override { return Client().status(); }

  Status PrepareToWrite() override {
    const GcsWriterOptions writing = Writing();
    return writing.is_own ? MakeOwnDirectory(writing.spool) : Status();
  }

  Status EndLeftUploads() override {
    GcsSpooler spooler(Writing());
    if (spooler.options.is_own) return {};  // every Sweep of a store does it
    ASSIGN_OR_RETURN(const bool any, spooler.sessions.HasAny());
    if (!any) return {};
    ASSIGN_OR_RETURN(const std::shared_ptr<GcsClient> client, Client());
    return EndLeftUploadsIn(*client, spooler);
  }

  Result<std::unique_ptr<Store>> OpenStore(const Uri& location) override {
    ASSIGN_OR_RETURN(std::shared_ptr<GcsClient> client, Client());
    return NewGcsStore(std::move(client), location.authority, location.path, Writing());
  }

  Status CheckName(std::string_view name) const override { return CheckGcsName(name); }

  Result<std::optional<RemoteObject>> FindObject(const Uri& location, std::stop_token stop) override {
    ASSIGN_OR_RETURN(const std::shared_ptr<GcsClient> client, Client());
    ASSIGN_OR_RETURN(std::optional<GcsObject> object,
                     StatGcsObject({client, location.authority, location.path}, std::move(stop)));
    if (!object) return std::nullopt;
    return std::optional(ObjectOf(client, location.authority, *std::move(object)));
  }

  Status ListPages(const std::string& bucket, std::string_view prefix, bool by_level,
                   const std::function<Status(RemotePage)>& visit, std::stop_token stop) override {
    ASSIGN_OR_RETURN(const std::shared_ptr<GcsClient> client, Client());
    const auto each = [&](GcsPage page) {
      RemotePage shown;
      shown.objects.reserve(page.objects.size());
      for (GcsObject& object : page.objects)
        shown.objects.push_back(ObjectOf(client, bucket, std::move(object)));
      shown.prefixes = std::move(page.prefixes);
      return visit(std::move(shown));
    };
    return ListGcsPages(client, bucket, prefix, by_level, each, std::move(stop));
  }

 private:
  static RemoteObject ObjectOf(const std::shared_ptr<GcsClient>& client, const std::string& bucket,
                               GcsObject object) {
    RemoteObject found{object.name, object.size, object.crc32c, {}};
    found.open = [client, bucket, object = std::move(object)] {
      const GcsLocation location{client, bucket, object.name};
      RemoteFile file{std::make_shared<GcsFile>(client, bucket, object), object.generation, object.crc32c,
                      true};
      file.identity = StrCat(client->settings().endpoint.url, " ", location.Where(), " ", object.generation);
      return file;
    };
    return found;
  }

  GcsWriterOptions Writing() const {
    return options_.spool.empty() ? GcsWriterOptions{.spool = OwnSpool(options_.environment), .is_own = true}
                                  : GcsWriterOptions{.spool = options_.spool};
  }

  Result<std::shared_ptr<GcsClient>> Client() {
    const Lock lock(mutex_);  // also while credentials are looked for: the others need them too
    if (client_) return client_;
    GcsSettings settings;
    settings.user_project = options_.environment(kUserProjectName).value_or("");
    settings.means = options_.means;
    ASSIGN_OR_RETURN(settings.endpoint, FindGcsEndpoint(options_.environment));
    const GcsTokenTools tools = UsualTokenTools();
    Result<GcsCredentials> credentials = FindGcsCredentials(options_.environment, settings.endpoint, tools);
    if (!credentials.ok() && credentials.status().Detail<NoCredentials>() != nullptr) {
      LogInfo("Google Cloud Storage: no credentials on this machine; only what is public can be read");
      credentials = GcsCredentials{AnonymousAccess{}, "anonymous"};
    }
    if (!credentials.ok()) return std::move(credentials).status();
    client_ = std::make_shared<GcsClient>(std::move(settings), tools.client,
                                          std::make_shared<GcsAuth>(*std::move(credentials), tools));
    return client_;
  }

  const StoreOptions options_;
  Mutex mutex_;
  std::shared_ptr<GcsClient> client_ GUARDED_BY(mutex_);  // shared with the stores; null before the first use
};

std::unique_ptr<RemoteOpener> Open(const StoreOptions& options) {
  return std::make_unique<GcsOpener>(options);
}

}  // namespace

// A bucket is made for several transfers at once.
constinit const RemoteScheme kGcsScheme{{"gs", Scheme::Form::kBucket, true, true, 4},
                                        Open,
                                        NewGcsCheckup,
                                        "gcloud storage ls",
                                        "gcloud storage mv"};

}  // namespace pipeline
