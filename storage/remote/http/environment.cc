#include "storage/remote/http/environment.h"

#include <unistd.h>

#include <cstdlib>

#include "base/str.h"

namespace pipeline {

namespace {

/// Where distributions keep the certificates of all authorities in one file. A libcurl knows the file of the
/// distribution that it was built for alone.
constexpr const char* kCaFiles[] = {
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch, Alpine
    "/etc/pki/tls/certs/ca-bundle.crt",                   // Red Hat, Fedora, Amazon
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // newer ones of them
    "/etc/ssl/ca-bundle.pem",                             // SUSE
    "/etc/ssl/cert.pem",
};

}  // namespace

EnvironmentLookup ProcessEnvironment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* const value = std::getenv(name);
    return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
  };
}

std::string FindCaFile(const EnvironmentLookup& environment, const std::string& root) {
  for (const char* name : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"})
    if (const std::optional<std::string> file = environment(name)) return *file;
  for (const char* file : kCaFiles)
    if (std::string path = StrCat(root, file); access(path.c_str(), R_OK) == 0) return path;
  return {};
}

std::string OwnSpool(const EnvironmentLookup& environment) {
  const std::string named = environment("TMPDIR").value_or(std::string());
  return StrCat(named.empty() ? "/var/tmp" : named, "/pipe-spool-", geteuid());
}

}  // namespace pipeline
