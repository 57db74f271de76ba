// URLs as the library takes them apart that connects by them: a second opinion here would be a hole.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pipeline {

/// Scheme, host and port in one, as `https://host:443`; kInvalidArgument where `url` is no http or https URL.
Result<std::string> HttpServerOf(const std::string& url);

/// Where `location` leads from `base`; absent where it is no URL. Its scheme may be any.
std::optional<std::string> ResolveLocation(const std::string& base, std::string_view location);

}  // namespace pipeline
