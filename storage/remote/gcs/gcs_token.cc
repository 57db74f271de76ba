#include <optional>
#include <utility>

#include "base/json.h"
#include "base/str.h"
#include "storage/local_file.h"
#include "storage/percent.h"
#include "storage/remote/gcs/gcs_auth.h"
#include "storage/remote/gcs/jwt.h"
#include "storage/remote/http/http_client.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxTokenBytes = 1 << 20;
constexpr std::string_view kScope = "https://www.googleapis.com/auth/cloud-platform";
constexpr std::string_view kUserTokenUrl = "https://oauth2.googleapis.com/token";
constexpr std::string_view kFlavor = "metadata-flavor";
constexpr std::chrono::seconds kSelfSigned{3600};  // the longest time that Google accepts

using std::chrono::seconds;

/// Sends the request, and repeats it after temporary failures: it returns only a status below 500, and
/// neither 408 nor 429.
Result<HttpAnswer> Ask(const HttpRequest& request, HttpClient& client, const GcsTokenTools& tools,
                       std::string_view who, const std::stop_token& stop) {
  Retry retry(tools.means);
  for (;;) {
    Result<HttpAnswer> answer = Fetch(client, request, kMaxTokenBytes, stop);
    std::optional<std::chrono::milliseconds> asked;
    Status failure;
    if (answer.ok()) {
      const int status = answer->response.status;
      if (status != 408 && status != 429 && status < 500) return answer;
      failure = Status(Code::kUnavailable, StrCat(who, ": answered with status ", status));
      asked = AskedPause(answer->response, tools.means.clock->UnixMillis());
    } else {
      failure = std::move(answer).status().Annotate(who);
    }
    RETURN_IF_ERROR(retry.Again(std::move(failure), asked, stop));
  }
}

HttpRequest Post(std::string_view url, std::string_view type, std::string body) {
  return {.method = "POST",
          .url = std::string(url),
          .headers = {{"Content-Type", std::string(type)}, {"Accept", "application/json"}},
          .body = std::move(body)};
}

constexpr std::string_view kForm = "application/x-www-form-urlencoded";

/// Returns the token in the answer of an OAuth server; `refused` is the remedy in the message if there is
/// none.
Result<GcsToken> TokenOf(const Result<HttpAnswer>& answer, const GcsTokenTools& tools, std::string_view who,
                         std::string_view refused) {
  if (!answer.ok()) return answer.status();
  const Result<Json> body = Json::Parse(answer->body);
  if (answer->response.status != 200) {
    // "invalid_grant" and the like: OAuth has a fixed list of these words, so none of them contains a secret.
    std::string word(body.ok() ? (*body)["error"].AsString() : "");
    if (word.size() > 40) word.clear();
    return Status(Code::kPermissionDenied, StrCat(who, ": gives no token: status ", answer->response.status,
                                                  word.empty() ? "" : ", ", word, "; ", refused));
  }
  GcsToken token{Secret(std::string(body.ok() ? (*body)["access_token"].AsString() : "")), {}};
  const double lifetime = body.ok() ? (*body)["expires_in"].AsDouble(3600) : 0;
  if (token.text.empty() || !(lifetime > 0) || lifetime > 1e6)
    return Status(Code::kUnavailable, StrCat(who, ": its answer holds no token"));
  token.expires = tools.means.clock->Monotonic() + seconds(static_cast<std::int64_t>(lifetime));
  return token;
}

Result<GcsToken> FromMetadata(const MetadataAccount& account, const GcsTokenTools& tools,
                              const std::stop_token& stop) {
  const std::string who = StrCat("metadata server ", account.host);
  const HttpRequest request = MetadataRequest(
      account.host,
      StrCat("computeMetadata/v1/instance/service-accounts/default/token?scopes=", PercentEncode(kScope)));
  const Result<HttpAnswer> answer = Ask(request, *tools.metadata_client, tools, who, stop);
  if (answer.ok() && answer->response.status == 404)
    return Status(Code::kPermissionDenied,
                  StrCat(who,
                         ": this machine has no service account; give it one with: gcloud compute instances "
                         "set-service-account NAME --service-account EMAIL --scopes cloud-platform"));
  if (answer.ok() && answer->response.Header(kFlavor).value_or("") != "Google")
    return Status(Code::kPermissionDenied,
                  StrCat(who,
                         ": the server that answers is no metadata server; see what the network does with "
                         "this address, or run: gcloud auth application-default login"));
  return TokenOf(answer, tools, who, "see whether the machine's service account is enabled");
}

Result<GcsToken> FromServiceAccount(const ServiceAccountKey& key, const GcsTokenTools& tools,
                                    std::string_view origin, seconds clock_ahead) {
  const std::int64_t now = tools.means.clock->UnixMillis() / 1000 + clock_ahead.count();
  Json header;
  header["alg"] = "RS256";
  header["typ"] = "JWT";
  header["kid"] = key.key_id;
  Json claims;
  claims["iss"] = key.email;
  claims["sub"] = key.email;
  claims["scope"] = kScope;
  claims["iat"] = now;
  claims["exp"] = now + kSelfSigned.count();
  Result<Secret> token = SignJwt(header, claims, key.private_key);
  if (!token.ok())
    return std::move(token).status().Annotate(
        StrCat(origin, ": download the key of the service account again"));
  return GcsToken{std::move(token).value(), tools.means.clock->Monotonic() + kSelfSigned};
}

Result<GcsToken> FromUser(const AuthorizedUser& user, const GcsTokenTools& tools, std::string_view origin,
                          const std::stop_token& stop) {
  const HttpRequest request = Post(kUserTokenUrl, kForm,
                                   FormText({{"grant_type", "refresh_token"},
                                             {"client_id", user.client_id},
                                             {"client_secret", user.client_secret.Reveal()},
                                             {"refresh_token", user.refresh_token.Reveal()}}));
  const std::string who = StrCat("oauth2.googleapis.com for ", origin);
  return TokenOf(Ask(request, *tools.client, tools, who, stop), tools, who,
                 "sign in again with: gcloud auth application-default login");
}

/// Returns a token of an account by a token of another account that may impersonate it.
Result<GcsToken> Impersonate(const std::string& url, const Secret& with,
                             const std::vector<std::string>& delegates, seconds lifetime,
                             const GcsTokenTools& tools, const std::stop_token& stop) {
  Json body;
  body["scope"].Append(kScope);
  body["lifetime"] = StrCat(lifetime.count(), "s");
  for (const std::string& delegate : delegates) body["delegates"].Append(delegate);
  HttpRequest request = Post(url, "application/json", body.Dump());
  request.headers.push_back({"Authorization", StrCat("Bearer ", with.Reveal())});
  const std::string who = "iamcredentials.googleapis.com";
  const std::chrono::nanoseconds now = tools.means.clock->Monotonic();
  const Result<HttpAnswer> answer = Ask(request, *tools.client, tools, who, stop);
  if (!answer.ok()) return answer.status();
  if (answer->response.status != 200)
    return Status(Code::kPermissionDenied,
                  StrCat(who, ": does not impersonate the account: status ", answer->response.status,
                         "; grant the role roles/iam.serviceAccountTokenCreator on it, with: gcloud iam "
                         "service-accounts add-iam-policy-binding"));
  const Result<Json> json = Json::Parse(answer->body);
  GcsToken token{Secret(std::string(json.ok() ? (*json)["accessToken"].AsString() : "")), now + lifetime};
  if (token.text.empty()) return Status(Code::kUnavailable, StrCat(who, ": its answer holds no token"));
  return token;
}

/// Returns the token of the other identity provider, from a file that it renews or from a server.
Result<Secret> SubjectToken(const ExternalAccount& account, const GcsTokenTools& tools,
                            std::string_view origin, const std::stop_token& stop) {
  std::string text;
  if (!account.source_file.empty()) {
    ASSIGN_OR_RETURN(const std::unique_ptr<LocalFile> file, LocalFile::Open(account.source_file));
    if (file->size() > kMaxTokenBytes)
      return Status(Code::kInvalidArgument, StrCat(account.source_file, ": is no token: it is too large"));
    ASSIGN_OR_RETURN(text, ReadBytes(*file, 0, file->size(), stop));
  } else {
    // The server belongs to this machine.
    HttpRequest request = {.url = account.source_url, .through_proxy = false};
    for (const auto& [name, value] : account.source_headers)
      request.headers.push_back({name, value.Reveal()});
    const std::string who = StrCat("credential_source of ", origin);
    ASSIGN_OR_RETURN(HttpAnswer answer, Ask(request, *tools.metadata_client, tools, who, stop));
    if (answer.response.status != 200)
      return Status(Code::kPermissionDenied,
                    StrCat(who, ": gives no token: status ", answer.response.status));
    text = std::move(answer.body);
  }
  if (!account.token_field.empty()) {
    const Result<Json> json = Json::Parse(text);
    text = json.ok() ? (*json)[account.token_field].AsString() : "";
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (text.empty())
    return Status(Code::kPermissionDenied, StrCat(origin, ": its credential_source holds no token"));
  return Secret(std::move(text));
}

Result<GcsToken> FromExternal(const ExternalAccount& account, const GcsTokenTools& tools,
                              std::string_view origin, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const Secret subject, SubjectToken(account, tools, origin, stop));
  const HttpRequest request =
      Post(account.token_url, kForm,
           FormText({{"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
                     {"audience", account.audience},
                     {"scope", kScope},
                     {"requested_token_type", "urn:ietf:params:oauth:token-type:access_token"},
                     {"subject_token", subject.Reveal()},
                     {"subject_token_type", account.subject_token_type}}));
  const std::string who = StrCat("token exchange for ", origin);
  Result<GcsToken> token = TokenOf(Ask(request, *tools.client, tools, who, stop), tools, who,
                                   "see whether the workload identity pool knows this workload");
  if (!token.ok() || account.impersonation_url.empty()) return token;
  return Impersonate(account.impersonation_url, token->text, {}, account.lifetime, tools, stop);
}

}  // namespace

Result<GcsToken> FetchGcsToken(const GcsCredentials& credentials, const GcsTokenTools& tools,
                               seconds clock_ahead, std::stop_token stop) {
  const std::string& origin = credentials.origin;
  if (const auto* account = std::get_if<MetadataAccount>(&credentials.kind))
    return FromMetadata(*account, tools, stop);
  if (const auto* key = std::get_if<ServiceAccountKey>(&credentials.kind))
    return FromServiceAccount(*key, tools, origin, clock_ahead);
  if (const auto* user = std::get_if<AuthorizedUser>(&credentials.kind))
    return FromUser(*user, tools, origin, stop);
  if (const auto* external = std::get_if<ExternalAccount>(&credentials.kind))
    return FromExternal(*external, tools, origin, stop);
  if (const auto* account = std::get_if<ImpersonatedAccount>(&credentials.kind)) {
    ASSIGN_OR_RETURN(const GcsToken source, FetchGcsToken(*account->source, tools, clock_ahead, stop));
    return Impersonate(account->impersonation_url, source.text, account->delegates, account->lifetime, tools,
                       stop);
  }
  return Status(Code::kInternal, "anonymous access has no token");
}

HttpRequest MetadataRequest(std::string_view host, std::string_view path) {
  return {.url = StrCat("http://", host, "/", path),
          .headers = {{"Metadata-Flavor", "Google"}},
          .through_proxy = false};
}

bool FindMetadataServer(const GcsTokenTools& tools, std::string_view host, std::stop_token stop) {
  const HttpRequest request = MetadataRequest(host, "");
  GcsTokenTools brief = tools;  // most machines have no such server, and their users wait for this answer
  brief.means.policy = {std::chrono::milliseconds(100), std::chrono::milliseconds(200), 3,
                        std::chrono::milliseconds(0)};
  const Result<HttpAnswer> answer = Ask(request, *tools.metadata_client, brief, host, stop);
  return answer.ok() && answer->response.Header(kFlavor).value_or("") == "Google";
}

}  // namespace pipeline
