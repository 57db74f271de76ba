// Maps HTTP status codes to Status.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "storage/remote/http/http_client.h"

namespace pipeline {

/// The code of an unsuccessful response: kNotFound for 404 and 410, kUnavailable for temporary failures
/// (408, 429, 5xx), kUnimplemented for 501 and 505, kPermissionDenied for 401, 403 and 407,
/// kFailedPrecondition for 412, kInvalidArgument for the others.
Code HttpCode(int status);

/// "<url>: <what>: the server answers 403 (forbidden); <what to do>". `what` may be empty.
Status HttpError(const HttpResponse& response, std::string_view url, std::string_view what);

/// The pause that the server asks for (Retry-After); absent: none. `unix_millis_now`: for a server that names
/// a date and does not say what time it has.
std::optional<std::chrono::milliseconds> AskedPause(const HttpResponse& response,
                                                    std::int64_t unix_millis_now);

}  // namespace pipeline
