// Parses URLs with libcurl, which also connects: a second parser that disagreed would be a security hole.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pipeline {

/// The version of the loaded libcurl, and in brackets its library of TLS.
std::string HttpLibraryVersion();

/// Scheme, host and port, as `https://host:443`; kInvalidArgument if `url` is not an http or https URL.
Result<std::string> HttpServerOf(const std::string& url);

/// Resolves `location` against `base`; absent: it is not a URL. Its scheme may be any.
std::optional<std::string> ResolveLocation(const std::string& base, std::string_view location);

}  // namespace pipeline
