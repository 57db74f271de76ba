#include <algorithm>
#include <array>

#include "base/str.h"
#include "storage/remote/http/http_client.h"
#include "storage/remote/http/http_text.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

struct KnownStatus {
  int status;
  Code code;
  std::string_view words;
  std::string_view advice;  // may be empty
};

constexpr std::string_view kAsk = "the server requires a login, or does not let everybody read this";

constexpr std::array<KnownStatus, 21> kKnown = {{
    {400, Code::kInvalidArgument, "bad request", "check the address"},
    {401, Code::kPermissionDenied, "unauthorized", kAsk},
    {402, Code::kPermissionDenied, "payment required", {}},
    {403, Code::kPermissionDenied, "forbidden", kAsk},
    {404, Code::kNotFound, "not found", "check the address"},
    {405, Code::kInvalidArgument, "method not allowed", "this is no place for files"},
    {407, Code::kPermissionDenied, "proxy authentication required", "check the proxy of the environment"},
    {408, Code::kUnavailable, "request timeout", {}},
    {410, Code::kNotFound, "gone", "it was removed for good; look for a mirror"},
    {412, Code::kFailedPrecondition, "precondition failed", {}},
    {414, Code::kInvalidArgument, "the address is too long", {}},
    {416, Code::kFailedPrecondition, "no such range", {}},
    {425, Code::kUnavailable, "too early", {}},
    {429, Code::kUnavailable, "too many requests", {}},
    {451, Code::kPermissionDenied, "unavailable for legal reasons", {}},
    {500, Code::kUnavailable, "internal error", {}},
    {501, Code::kUnimplemented, "not implemented", {}},
    {502, Code::kUnavailable, "bad gateway", {}},
    {503, Code::kUnavailable, "unavailable", {}},
    {504, Code::kUnavailable, "gateway timeout", {}},
    {505, Code::kUnimplemented, "version of HTTP not supported", {}},
}};

const KnownStatus* Find(int status) {
  const auto found =
      std::find_if(kKnown.begin(), kKnown.end(), [&](const KnownStatus& k) { return k.status == status; });
  return found == kKnown.end() ? nullptr : &*found;
}

}  // namespace

Code HttpCode(int status) {
  if (const KnownStatus* const known = Find(status)) return known->code;
  return status >= 500 ? Code::kUnavailable : Code::kInvalidArgument;
}

Status HttpError(const HttpResponse& response, std::string_view url, std::string_view what) {
  std::string message =
      StrCat(ShownUrl(url), ": ", what, what.empty() ? "" : ": ", "the server answers ", response.status);
  if (const KnownStatus* const known = Find(response.status)) {
    message += StrCat(" (", known->words, ")");
    if (!known->advice.empty()) message += StrCat("; ", known->advice);
  }
  return Status(HttpCode(response.status), std::move(message));
}

std::optional<std::chrono::milliseconds> AskedPause(const HttpResponse& response,
                                                    std::int64_t unix_millis_now) {
  const std::optional<std::string_view> value = response.Header("retry-after");
  if (!value) return std::nullopt;
  // The server's own clock says how far away its date is: that of this machine may be minutes apart.
  const std::optional<std::int64_t> date =
      ParseHttpDate(response.Header("date").value_or(std::string_view()));
  return ParseRetryAfter(*value, date ? *date * 1000 : unix_millis_now);
}

}  // namespace pipeline
