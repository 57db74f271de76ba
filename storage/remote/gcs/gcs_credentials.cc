#include <algorithm>
#include <string_view>

#include "base/json.h"
#include "base/str.h"
#include "storage/remote/gcs/gcs_auth.h"

namespace pipeline {

namespace {

constexpr int kMaxDepth = 2;  // levels of accounts that impersonate accounts

/// Reads members of one object, and remembers the first missing one.
class Members {
 public:
  Members(const Json& object, std::string_view origin) : object_(object), origin_(origin) {}

  std::string Required(std::string_view name) {
    std::string value(object_[name].AsString());
    if (value.empty() && missing_.empty()) missing_ = name;
    return value;
  }
  std::string Optional(std::string_view name) const { return std::string(object_[name].AsString()); }
  /// Checks a URL to which secrets are sent.
  std::string GoogleUrl(std::string_view name, std::string value) {
    if (!value.empty() && !IsGoogleUrl(value) && elsewhere_.empty()) elsewhere_ = name;
    return value;
  }
  Status Check() const {
    if (!missing_.empty()) return Bad(StrCat("'", missing_, "' is missing"));
    if (!elsewhere_.empty())
      return Bad(StrCat("'", elsewhere_, "' leads to a server that is not Google's; nothing was sent to it"));
    return {};
  }
  Status Bad(std::string_view why) const {
    return Status(Code::kInvalidArgument,
                  StrCat(origin_, ": cannot be used as credentials: ", why,
                         "; make new ones with: gcloud auth application-default login, or download the key "
                         "of a service account again"));
  }

 private:
  const Json& object_;
  const std::string origin_;
  std::string missing_;
  std::string elsewhere_;
};

std::chrono::seconds Lifetime(const Json& value) {
  return std::chrono::seconds(std::clamp<std::int64_t>(value.AsInt(3600), 600, 43'200));
}

Result<GcsCredentials> FromJson(const Json& file, std::string_view origin, int depth);

Result<ServiceAccountKey> ReadServiceAccount(Members& members) {
  ServiceAccountKey key{members.Required("client_email"), members.Required("private_key_id"),
                        Secret(members.Required("private_key"))};
  RETURN_IF_ERROR(members.Check());
  return key;
}

Result<AuthorizedUser> ReadUser(Members& members) {
  AuthorizedUser user{members.Required("client_id"), Secret(members.Required("client_secret")),
                      Secret(members.Required("refresh_token"))};
  RETURN_IF_ERROR(members.Check());
  return user;
}

Result<ExternalAccount> ReadExternal(const Json& file, Members& members) {
  ExternalAccount account;
  account.audience = members.Required("audience");
  account.subject_token_type = members.Required("subject_token_type");
  account.token_url = members.GoogleUrl("token_url", members.Required("token_url"));
  account.impersonation_url = members.GoogleUrl("service_account_impersonation_url",
                                                members.Optional("service_account_impersonation_url"));
  account.lifetime = Lifetime(file["service_account_impersonation"]["token_lifetime_seconds"]);
  const Json& source = file["credential_source"];
  account.source_file = source["file"].AsString();
  account.source_url = source["url"].AsString();
  for (const auto& [name, value] : source["headers"].AsObject())
    account.source_headers.emplace_back(name, Secret(std::string(value.AsString())));
  if (source["format"]["type"].AsString("text") == "json") {
    account.token_field = source["format"]["subject_token_field_name"].AsString();
    if (account.token_field.empty()) return members.Bad("'subject_token_field_name' is missing");
  }
  RETURN_IF_ERROR(members.Check());
  if (account.source_file.empty() == account.source_url.empty())
    return members.Bad(
        "'credential_source' must name a file or a url: programs, certificates and "
        "other clouds' environments are not supported");
  const std::string_view url = account.source_url;
  if (!url.empty() && url.substr(0, 7) != "http://" && url.substr(0, 8) != "https://")
    return members.Bad("the url of 'credential_source' is neither http nor https");
  return account;
}

Result<ImpersonatedAccount> ReadImpersonated(const Json& file, std::string_view origin, Members& members,
                                             int depth) {
  ImpersonatedAccount account;
  account.impersonation_url = members.GoogleUrl("service_account_impersonation_url",
                                                members.Required("service_account_impersonation_url"));
  for (const Json& delegate : file["delegates"].AsArray())
    account.delegates.emplace_back(delegate.AsString());
  account.lifetime = Lifetime(file["lifetime"]);
  RETURN_IF_ERROR(members.Check());
  if (!file["source_credentials"].is_object()) return members.Bad("'source_credentials' is missing");
  if (depth == kMaxDepth) return members.Bad("'source_credentials' are nested too deep");
  ASSIGN_OR_RETURN(GcsCredentials source, FromJson(file["source_credentials"], origin, depth + 1));
  account.source = std::make_shared<const GcsCredentials>(std::move(source));
  return account;
}

Result<GcsCredentials> FromJson(const Json& file, std::string_view origin, int depth) {
  Members members(file, origin);
  const std::string_view type = file["type"].AsString();
  const std::string_view universe = file["universe_domain"].AsString("googleapis.com");
  if (universe != "googleapis.com") return members.Bad("'universe_domain' is not googleapis.com");
  GcsCredentials credentials;
  credentials.origin = origin;
  if (type == "service_account") {
    ASSIGN_OR_RETURN(credentials.kind, ReadServiceAccount(members));
  } else if (type == "authorized_user") {
    ASSIGN_OR_RETURN(credentials.kind, ReadUser(members));
  } else if (type == "external_account") {
    ASSIGN_OR_RETURN(credentials.kind, ReadExternal(file, members));
  } else if (type == "impersonated_service_account") {
    ASSIGN_OR_RETURN(credentials.kind, ReadImpersonated(file, origin, members, depth));
  } else if (type.empty()) {
    return members.Bad(file.Has("installed") || file.Has("web")
                           ? "it is the identifier of an OAuth client, not a credential"
                           : "'type' is missing");
  } else {
    return members.Bad(
        "its 'type' is not supported; service_account, authorized_user, external_account and "
        "impersonated_service_account are");
  }
  return credentials;
}

}  // namespace

Result<GcsCredentials> ParseGcsCredentials(std::string_view text, std::string_view origin) {
  const Result<Json> file = Json::Parse(text);
  if (file.ok() && file->is_object()) return FromJson(*file, origin, 0);
  // The message has only the position of the mistake, because the bytes there may be a key.
  std::string_view where = file.ok() ? "" : file.status().message();
  where = where.substr(0, where.find(':'));
  return Members(Json(), origin).Bad(where.empty() ? "is no JSON object" : StrCat(where, ": is no JSON"));
}

bool IsGoogleUrl(std::string_view url) {
  constexpr std::string_view kScheme = "https://", kDomain = ".googleapis.com";
  if (url.substr(0, kScheme.size()) != kScheme) return false;
  url.remove_prefix(kScheme.size());
  const std::string_view host = url.substr(0, url.find_first_of("/?#\\"));
  const bool plain = std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
  return plain && host.size() > kDomain.size() && host.substr(host.size() - kDomain.size()) == kDomain;
}

}  // namespace pipeline
