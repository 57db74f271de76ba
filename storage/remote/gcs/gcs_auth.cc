#include "storage/remote/gcs/gcs_auth.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/log.h"
#include "base/mutex.h"
#include "base/str.h"
#include "storage/local_file.h"
#include "storage/remote/http/http_address.h"

namespace pipeline {

namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr seconds kRefreshAhead{225};  // Google's own libraries have the same value
constexpr seconds kClockTolerance{300};
constexpr std::uint64_t kMaxCredentialBytes = 1 << 20;

std::string WithoutSlash(std::string url) {
  while (!url.empty() && url.back() == '/') url.pop_back();
  return url;
}

Result<GcsCredentials> ReadCredentials(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<LocalFile> file, LocalFile::Open(path));
  if (file->size() > kMaxCredentialBytes)
    return Status(Code::kInvalidArgument, StrCat(path, ": too large to be a file of credentials"));
  ASSIGN_OR_RETURN(const std::string text, ReadBytes(*file, 0, file->size()));
  struct stat found;
  if (fstat(file->descriptor(), &found) == 0 && (found.st_mode & S_IROTH) != 0)
    LogWarning(
        StrCat(path, ": every user of this machine can read these credentials; run: chmod 600 ", path));
  return ParseGcsCredentials(text, path);
}

/// Returns the path where gcloud keeps the credentials of a person. Absent: there is no home directory.
std::optional<std::string> WellKnownFile(const EnvironmentLookup& environment) {
  constexpr std::string_view kName = "/application_default_credentials.json";
  if (const auto config = environment("CLOUDSDK_CONFIG")) return StrCat(*config, kName);
  if (const auto home = environment("HOME")) return StrCat(*home, "/.config/gcloud", kName);
  return std::nullopt;
}

/// Google's own libraries have this variable, too.
bool SkipsGoogle(const EnvironmentLookup& environment) {
  const std::string no = environment("NO_GCE_CHECK").value_or("");
  return no == "true" || no == "1";
}

bool MadeByGoogle(const std::string& product_file) {
  const Result<std::unique_ptr<LocalFile>> file = LocalFile::Open(product_file);
  if (!file.ok()) return false;
  const Result<std::string> text = ReadBytes(**file, 0, 6);
  return text.ok() && *text == "Google";
}

}  // namespace

bool IsThisMachine(const std::string& url) {
  const Result<std::string> server = HttpServerOf(url);
  if (!server.ok() || server->substr(0, 7) != "http://" || url.find('@') != std::string::npos) return false;
  const std::string_view host = std::string_view(*server).substr(7, server->rfind(':') - 7);
  const bool digits = host.find_first_not_of("0123456789.") == std::string_view::npos;
  return host == "localhost" || host == "[::1]" || (digits && host.substr(0, 4) == "127.");
}

GcsTokenTools UsualTokenTools() {
  // A metadata server is near or not there.
  constexpr std::chrono::milliseconds kConnect{3'000}, kStall{10'000};
  return {SharedHttpClient(), NewHttpClient({.connect = kConnect, .stall = kStall})};
}

Result<GcsEndpoint> FindGcsEndpoint(const EnvironmentLookup& environment) {
  GcsEndpoint endpoint;
  if (const auto host = environment("STORAGE_EMULATOR_HOST")) {
    endpoint.url = WithoutSlash(host->find("://") == std::string::npos ? StrCat("http://", *host) : *host);
    endpoint.emulator = true;
  } else if (const auto other = environment("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE")) {
    endpoint.url = WithoutSlash(*other);
    // gcloud's value ends with the version of the API.
    constexpr std::string_view kVersion = "/storage/v1";
    if (const std::size_t at = endpoint.url.rfind(kVersion);
        at != std::string::npos && at + kVersion.size() == endpoint.url.size())
      endpoint.url.resize(at);
    if (endpoint.url.substr(0, 8) != "https://" && !IsThisMachine(endpoint.url))
      return Status(
          Code::kInvalidArgument,
          "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE: is neither https nor this machine: a token would be "
          "sent for all to read; use https, or STORAGE_EMULATOR_HOST without credentials");
  }
  return endpoint;
}

std::optional<std::string> NamedMetadataHost(const EnvironmentLookup& environment,
                                             const std::string& product_file) {
  for (const char* name : {"GCE_METADATA_HOST", "GCE_METADATA_ROOT"})
    if (auto host = environment(name)) return host;
  if (SkipsGoogle(environment) || !MadeByGoogle(product_file)) return std::nullopt;
  return "metadata.google.internal";
}

std::optional<std::string> FindMetadataHost(const EnvironmentLookup& environment, const GcsTokenTools& tools,
                                            std::stop_token stop, const std::string& product_file) {
  if (auto named = NamedMetadataHost(environment, product_file)) return named;
  if (SkipsGoogle(environment)) return std::nullopt;
  const std::string ip = environment("GCE_METADATA_IP").value_or("169.254.169.254");
  return FindMetadataServer(tools, ip, std::move(stop)) ? std::optional<std::string>(ip) : std::nullopt;
}

Result<GcsCredentials> FindGcsCredentials(const EnvironmentLookup& environment, const GcsEndpoint& endpoint,
                                          const GcsTokenTools& tools, std::stop_token stop,
                                          const std::string& product_file) {
  if (endpoint.emulator) return GcsCredentials{AnonymousAccess{}, "anonymous"};
  if (const auto named = environment("GOOGLE_APPLICATION_CREDENTIALS")) {
    Result<GcsCredentials> credentials = ReadCredentials(*named);
    if (credentials.ok()) return credentials;
    return std::move(credentials).status().Annotate("GOOGLE_APPLICATION_CREDENTIALS");
  }
  if (const auto path = WellKnownFile(environment)) {
    Result<GcsCredentials> credentials = ReadCredentials(*path);
    if (credentials.ok() || credentials.status().code() != Code::kNotFound) return credentials;
  }
  if (auto host = FindMetadataHost(environment, tools, stop, product_file))
    return GcsCredentials{MetadataAccount{std::move(*host)}, "metadata server"};
  if (stop.stop_requested()) return Status(Code::kCancelled, "looking for credentials was stopped");
  return Status(Code::kNotFound,
                StrCat("Google Cloud Storage: no credentials on this machine; ", kMakeCredentials))
      .With(std::make_shared<NoCredentials>());
}

GcsAuth::GcsAuth(GcsCredentials credentials, GcsTokenTools tools)
    : credentials_(std::move(credentials)), tools_(std::move(tools)) {}

Result<std::optional<Secret>> GcsAuth::Token(std::stop_token stop) {
  if (anonymous()) return std::nullopt;
  Lock lock(mutex_);
  for (;;) {
    const nanoseconds now = tools_.means.clock->Monotonic();
    const bool good = token_ && now < token_->expires;
    if (good && (now < refresh_at_ || fetching_)) return std::optional(token_->text);
    if (!fetching_) break;
    if (!changed_.Wait(lock, stop, [this]() REQUIRES(mutex_) { return !fetching_; }))
      return Status(Code::kCancelled, "waiting for an access token was stopped");
  }
  fetching_ = true;
  const seconds clock_ahead = clock_ahead_;
  lock.unlock();
  Result<GcsToken> fetched = FetchGcsToken(credentials_, tools_, clock_ahead, stop);
  lock.lock();
  fetching_ = false;
  changed_.NotifyAll();
  const nanoseconds now = tools_.means.clock->Monotonic();
  if (!fetched.ok()) {
    // A token that is still valid is better than none; the first request after half a minute asks again.
    if (!token_ || now >= token_->expires) return std::move(fetched).status();
    refresh_at_ = now + seconds(30);
    return std::optional(token_->text);
  }
  token_ = std::move(fetched).value();
  // A metadata server gives the token that it has, even if that ends soon, so at least half of the remaining
  // time passes before the next request.
  const nanoseconds left = token_->expires - now;
  refresh_at_ = now + std::max<nanoseconds>(left - kRefreshAhead, left / 2);
  return std::optional(token_->text);
}

void GcsAuth::Reject(const Secret& token) {
  const Lock lock(mutex_);
  if (token_ && token_->text == token) token_.reset();
}

bool GcsAuth::NoteServerTime(std::int64_t unix_seconds) {
  const seconds ahead(unix_seconds - tools_.means.clock->UnixMillis() / 1000);
  if (std::chrono::abs(ahead) < kClockTolerance) return false;
  const Lock lock(mutex_);
  if (std::chrono::abs(ahead - clock_ahead_) >= kClockTolerance) {
    LogWarning(StrCat("this machine's clock is ", std::chrono::abs(ahead).count(), " seconds ",
                      ahead.count() > 0 ? "behind" : "ahead of",
                      " that of Google Cloud Storage; set it, for example with: timedatectl set-ntp true"));
    clock_ahead_ = ahead;
  }
  return true;
}

}  // namespace pipeline
