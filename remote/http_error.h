// What a status of HTTP means here.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "remote/http_client.h"

namespace pipeline {

/// The code that fits a response which is no success: kNotFound for 404 and 410, kUnavailable for what may
/// pass (408, 429, 5xx), kPermissionDenied for 401, 403 and 407, kFailedPrecondition for 412,
/// kInvalidArgument for the rest.
Code HttpCode(int status);

/// "<url>: <what>: the server answers 403 (forbidden); <what to do>". `what` may be empty.
Status HttpError(const HttpResponse& response, std::string_view url, std::string_view what);

/// How long the server asks to be left alone; absent where it does not.
std::optional<std::chrono::milliseconds> AskedPause(const HttpResponse& response,
                                                    std::int64_t unix_millis_now);

}  // namespace pipeline
