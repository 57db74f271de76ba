// Settings of this process's environment. The only file below cli/ that may read it.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace pipeline {

/// Returns the value of an environment variable; absent if it is not set or empty.
using EnvironmentLookup = std::function<std::optional<std::string>(const char* name)>;
EnvironmentLookup ProcessEnvironment();

/// Returns the PEM file of trusted authorities: the one that CURL_CA_BUNDLE or SSL_CERT_FILE names, or the first that
/// distributions of Linux have below `root`. Empty: there is none, and libcurl takes its own, if it was built with one.
std::string FindCaFile(const EnvironmentLookup& environment, const std::string& root = "");

/// The private directory of this user, $TMPDIR/pipe-spool-UID; /var/tmp if TMPDIR is not set. Callers
/// create it with MakeOwnDirectory.
std::string OwnSpool(const EnvironmentLookup& environment);

}  // namespace pipeline
