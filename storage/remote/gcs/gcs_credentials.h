// Google Cloud credentials, parsed from the files that gcloud and the console write.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "storage/remote/http/secret.h"

namespace pipeline {

struct AnonymousAccess {};

/// The service account of this machine.
struct MetadataAccount {
  std::string host;  // "metadata.google.internal", or as the environment says
};

struct ServiceAccountKey {
  std::string email;
  std::string key_id;
  Secret private_key;  // PEM
};

/// A user, from `gcloud auth application-default login`.
struct AuthorizedUser {
  std::string client_id;
  Secret client_secret;
  Secret refresh_token;
};

/// A token of another identity provider, exchanged by Google (workload identity federation).
struct ExternalAccount {
  std::string audience;
  std::string subject_token_type;
  std::string token_url;
  std::string source_file;  // read at every exchange; or
  std::string source_url;   // requested at every exchange
  std::vector<std::pair<std::string, Secret>> source_headers;
  std::string token_field;        // member of the JSON answer; empty: the whole answer is the token
  std::string impersonation_url;  // empty: no impersonation
  std::chrono::seconds lifetime{3600};
};

struct GcsCredentials;

struct ImpersonatedAccount {
  std::shared_ptr<const GcsCredentials> source;  // shared by copies; immutable
  std::string impersonation_url;
  std::vector<std::string> delegates;
  std::chrono::seconds lifetime{3600};
};

struct GcsCredentials {
  std::variant<AnonymousAccess, MetadataAccount, ServiceAccountKey, AuthorizedUser, ExternalAccount,
               ImpersonatedAccount>
      kind;
  std::string origin;  // for messages: the file or the kind
};

/// Parses a credentials file. kInvalidArgument with the command that makes a good one; the message has
/// names of members and never their values.
Result<GcsCredentials> ParseGcsCredentials(std::string_view text, std::string_view origin);

/// True if secrets may be sent to `url`: https, a host of googleapis.com, no user and no port.
bool IsGoogleUrl(std::string_view url);

}  // namespace pipeline
