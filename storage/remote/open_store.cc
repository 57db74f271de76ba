#include "storage/remote/open_store.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "base/mutex.h"
#include "base/str.h"
#include "storage/local_store.h"
#include "storage/remote/gcs/gcs_location.h"
#include "storage/remote/gcs/gcs_reader.h"
#include "storage/remote/gcs/gcs_store.h"
#include "storage/remote/http/http_client.h"
#include "storage/remote/http/http_error.h"
#include "storage/remote/http/http_file.h"
#include "storage/remote/http/http_store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

/// Somebody waits for the plan: a host that was mistyped should not take minutes to be told.
constexpr RetryPolicy kPlanPolicy{.first = std::chrono::milliseconds(500),
                                  .longest = std::chrono::milliseconds(2'000),
                                  .attempts = 3,
                                  .patience = std::chrono::milliseconds(4'000)};

/// As rate-limited as any; only soon at its end.
constexpr RetryPolicy kNextPolicy{.attempts = 2, .patience = std::chrono::milliseconds(10'000)};

/// A metadata server is near or not there.
constexpr std::chrono::milliseconds kNearConnect{3'000}, kNearStall{10'000};

/// The one of the process, shared by all its stores: a connection that one has left is of use to the next.
std::shared_ptr<HttpClient> SharedHttpClient() {
  static const std::shared_ptr<HttpClient> client =
      NewHttpClient({.ca_file = FindCaFile(ProcessEnvironment())});
  return client;
}

/// The opener of the process: one identity and its token.
StoreOpener& SharedOpener() {
  static StoreOpener opener;
  return opener;
}

/// The object as it is now, held to this generation.
Result<RemoteFile> OpenObject(const Uri& place, std::stop_token stop) {
  RETURN_IF_ERROR(CheckGcsName(place.path));
  Result<std::shared_ptr<GcsClient>> client = SharedOpener().Gcs();
  if (!client.ok()) return std::move(client).status().Annotate(place.ToString());
  ASSIGN_OR_RETURN(std::optional<GcsObject> object,
                   StatGcsObject({*client, place.authority, place.path}, std::move(stop)));
  if (!object) return Status(Code::kNotFound, StrCat(place.ToString(), ": there is no such object"));
  std::string version = object->generation;
  const std::optional<std::uint32_t> crc32c = object->crc32c;
  auto file = std::make_shared<GcsFile>(*std::move(client), place.authority, *std::move(object));
  return RemoteFile{std::move(file), std::move(version), crc32c, true};
}

/// Part by part, each between two slashes; as in a shell, a leading `.` is only matched by itself.
bool MatchesPath(std::string_view pattern, std::string_view name) {
  for (;;) {
    const std::size_t pattern_end = std::min(pattern.find('/'), pattern.size());
    const std::size_t name_end = std::min(name.find('/'), name.size());
    const bool hidden = name.substr(0, 1) == "." && pattern.substr(0, 1) != ".";
    if (hidden || !MatchesPattern(pattern.substr(0, pattern_end), name.substr(0, name_end))) return false;
    const bool pattern_goes_on = pattern_end < pattern.size();
    if (pattern_goes_on != (name_end < name.size())) return false;
    if (!pattern_goes_on) return true;
    pattern.remove_prefix(pattern_end + 1);
    name.remove_prefix(name_end + 1);
  }
}

}  // namespace

RetryPolicy PolicyOf(const RemoteAsk& ask) {
  switch (ask.patience) {
    case Patience::kPlan: return kPlanPolicy;
    case Patience::kNext: return kNextPolicy;
    case Patience::kRun: break;
  }
  return {.attempts = 1, .patience = ask.silence};
}

Result<std::shared_ptr<GcsClient>> StoreOpener::Gcs() {
  const Lock lock(mutex_);  // also while credentials are looked for: the others need them too
  if (gcs_) return gcs_;
  GcsSettings settings;
  settings.user_project = options_.user_project;
  if (settings.user_project.empty())
    settings.user_project = options_.environment(kUserProjectName).value_or("");
  settings.means = options_.means;
  ASSIGN_OR_RETURN(settings.endpoint, FindGcsEndpoint(options_.environment));
  std::shared_ptr<HttpClient> http = SharedHttpClient();
  const GcsTokenTools tools{http, NewHttpClient({.connect = kNearConnect, .stall = kNearStall})};
  std::optional<GcsCredentials> credentials = options_.credentials;
  if (!credentials) {
    Result<GcsCredentials> found = FindGcsCredentials(options_.environment, settings.endpoint, tools);
    if (!found.ok() && found.status().Detail<NoCredentials>() != nullptr) {
      LogInfo("Google Cloud Storage: no credentials on this machine; only what is public can be read");
      found = GcsCredentials{AnonymousAccess{}, "anonymous"};
    }
    ASSIGN_OR_RETURN(credentials, std::move(found));
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
          std::move(client).value(), place.authority, place.path,
          options_.spool.empty() ? GcsWriterOptions{.spool = OwnSpool(options_.environment), .is_own = true}
                                 : GcsWriterOptions{.spool = options_.spool}));
    }
    case Uri::Scheme::kHttp:
    case Uri::Scheme::kHttps:
      return std::unique_ptr<Store>(std::make_unique<HttpStore>(SharedHttpClient(), place));
  }
  return Status(Code::kInternal, StrCat(uri, ": a scheme without a store"));
}

Result<std::unique_ptr<Store>> OpenStore(std::string_view uri) { return SharedOpener().Open(uri); }

Result<RemoteFile> OpenRemoteFile(std::string_view uri, const RemoteAsk& ask, std::stop_token stop) {
  ASSIGN_OR_RETURN(const Uri place, Uri::Parse(uri));
  if (place.scheme == Uri::Scheme::kFile)
    return Status(Code::kInvalidArgument, StrCat(uri, ": is on this machine"));
  if (place.scheme == Uri::Scheme::kGs) return OpenObject(place, std::move(stop));
  const HttpMeans means{{.policy = PolicyOf(ask)}, ask.stall};
  if (ask.pinned_size)
    return RemoteFile{
        HttpFile::Pinned(SharedHttpClient(), place.ToString(), *ask.pinned_size, means), {}, {}};
  ASSIGN_OR_RETURN(std::shared_ptr<HttpFile> file,
                   HttpFile::Open(SharedHttpClient(), place.ToString(), means, std::move(stop)));
  HttpFacts facts = file->facts();
  return RemoteFile{std::move(file), facts.Version(), {}, facts.takes_ranges, std::move(facts)};
}

Result<EncodedTransfer> OpenEncoded(const std::string& uri, const RemoteAsk& ask, const HttpFacts* wanted,
                                    std::stop_token stop) {
  ASSIGN_OR_RETURN(std::unique_ptr<HttpExchange> exchange,
                   SharedHttpClient()->Start(RequestFor(uri, {.stall = ask.stall}), std::move(stop)));
  const HttpResponse& response = exchange->response();
  if (response.status != 200) return HttpError(response, uri, "cannot read it");
  RETURN_IF_ERROR(CheckIsFile(response, uri));
  EncodedTransfer transfer;
  const Status plain = CheckIsPlain(response, uri);
  if (const auto* const encoded = plain.Detail<EncodedBody>()) transfer.coding = encoded->facts.coding;
  if (wanted != nullptr) {
    HttpFacts same = *wanted;
    if (same.coding != transfer.coding) same.etag.clear();  // which names one form of the file
    RETURN_IF_ERROR(CheckUnchanged(same, response, std::nullopt, false, uri));
  }
  transfer.sent = std::move(exchange);
  return transfer;
}

Result<std::vector<std::string>> FindRemoteFiles(std::string_view pattern, std::stop_token stop) {
  ASSIGN_OR_RETURN(const Uri place, Uri::Parse(pattern));
  if (place.scheme != Uri::Scheme::kGs)
    return Status(Code::kInvalidArgument, StrCat(ShownUrl(pattern), ": what is there cannot be listed"));
  Result<std::shared_ptr<GcsClient>> client = SharedOpener().Gcs();
  if (!client.ok()) return std::move(client).status().Annotate(pattern);
  std::vector<std::string> names;
  bool is_name = false;
  Status unnamed;
  const auto visit = [&](const GcsObject& object) -> Status {
    is_name = is_name || object.name == place.path;
    // An empty one with a slash at its end is how other programs mark a directory.
    const bool marks_directory = object.size == 0 && object.name.back() == '/';
    if (marks_directory || !MatchesPath(place.path, object.name)) return {};
    if (Status named = CheckGcsName(object.name); !named.ok() && unnamed.ok()) unnamed = std::move(named);
    names.push_back(object.name);
    return {};
  };
  const std::string_view prefix = std::string_view(place.path).substr(0, place.path.find_first_of("*?"));
  RETURN_IF_ERROR(ListGcsObjects(*client, place.authority, prefix, visit, std::move(stop)));
  if (is_name) names = {place.path};
  if (!is_name && !unnamed.ok())
    return Status(
        Code::kInvalidArgument,
        StrCat(pattern, ": stands for an object that cannot be read under its name: ", unnamed.message(),
               "; rename it (`gcloud storage mv`), or write the pattern so that it leaves it out"));
  if (names.empty())
    return Status(Code::kNotFound, StrCat(pattern, ": no object has such a name; `gcloud storage ls gs://",
                                          place.authority, "/", prefix, "` shows which there are"));
  std::sort(names.begin(), names.end());
  for (std::string& name : names) name = StrCat("gs://", place.authority, "/", name);
  return names;
}

}  // namespace pipeline
