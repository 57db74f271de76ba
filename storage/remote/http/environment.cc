#include "storage/remote/http/environment.h"

#include <unistd.h>

#include <cstdlib>

#include "base/str.h"

namespace pipeline {

EnvironmentLookup ProcessEnvironment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* const value = std::getenv(name);
    return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
  };
}

std::string FindCaFile(const EnvironmentLookup& environment) {
  const std::optional<std::string> of_curl = environment("CURL_CA_BUNDLE");
  return of_curl ? *of_curl : environment("SSL_CERT_FILE").value_or(std::string());
}

std::string OwnSpool(const EnvironmentLookup& environment) {
  const std::string named = environment("TMPDIR").value_or(std::string());
  return StrCat(named.empty() ? "/var/tmp" : named, "/pipe-spool-", geteuid());
}

}  // namespace pipeline
