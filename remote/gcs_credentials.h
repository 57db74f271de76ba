// Who we are to Google Cloud Storage, as the files of gcloud and of the console say it.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "remote/secret.h"

namespace pipeline {

struct AnonymousAccess {};

/// The service account of the machine that we run on.
struct MetadataAccount {
  std::string host;  // "metadata.google.internal", or as the environment says
};

struct ServiceAccountKey {
  std::string email;
  std::string key_id;
  Secret private_key;  // PEM
};

/// A person, by `gcloud auth application-default login`.
struct AuthorizedUser {
  std::string client_id;
  Secret client_secret;
  Secret refresh_token;
};

/// A token of somebody else's that Google exchanges (workload identity federation).
struct ExternalAccount {
  std::string audience;
  std::string subject_token_type;
  std::string token_url;
  std::string source_file;  // read at every exchange; or
  std::string source_url;   // asked at every exchange
  std::vector<std::pair<std::string, Secret>> source_headers;
  std::string token_field;        // of a JSON answer; empty: the token is all of it
  std::string impersonation_url;  // empty: no
  std::chrono::seconds lifetime{3600};
};

struct GcsCredentials;

struct ImpersonatedAccount {
  std::shared_ptr<const GcsCredentials> source;  // shared by copies; never changes
  std::string impersonation_url;
  std::vector<std::string> delegates;
  std::chrono::seconds lifetime{3600};
};

struct GcsCredentials {
  std::variant<AnonymousAccess, MetadataAccount, ServiceAccountKey, AuthorizedUser, ExternalAccount,
               ImpersonatedAccount>
      kind;
  std::string origin;  // for messages: the file, or what it is
};

/// From the text of a credentials file. kInvalidArgument with the command that makes a good one; the message
/// holds names of members and nothing that they contain.
Result<GcsCredentials> ParseGcsCredentials(std::string_view text, std::string_view origin);

/// Whether secrets may be sent there: https, a host of googleapis.com, no user and no port.
bool IsGoogleUrl(std::string_view url);

}  // namespace pipeline
