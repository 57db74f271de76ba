#include "storage/remote/machine_metadata.h"

#include <algorithm>
#include <chrono>

#include "base/str.h"
#include "base/wait.h"
#include "storage/remote/gcs/gcs_auth.h"
#include "storage/remote/http/http_client.h"

namespace pipeline {

namespace {

constexpr std::chrono::milliseconds kMostTime{1000};
constexpr std::uint64_t kMostBytes = 1 << 20;

bool IsPath(std::string_view path) {
  const auto allowed = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '/';
  };
  return !path.empty() && path.front() != '/' && std::all_of(path.begin(), path.end(), allowed);
}

}  // namespace

Result<std::optional<std::string>> ReadMachineMetadata(std::string_view path, std::stop_token stop,
                                                       const EnvironmentLookup& environment,
                                                       const std::string& product_file) {
  const std::optional<std::string> none;
  if (!IsPath(path))
    return Status(Code::kInvalidArgument, StrCat("\"", path, "\" is no path of a metadata server"));
  const std::optional<std::string> host = NamedMetadataHost(environment, product_file);
  if (!host) return none;
  const auto client = NewHttpClient({.connect = kMostTime, .stall = kMostTime});
  const HttpRequest request = MetadataRequest(*host, StrCat("computeMetadata/v1/", path));
  const TimeLimit limit(kMostTime, stop);
  const Result<HttpAnswer> answer = Fetch(*client, request, kMostBytes, limit.token());
  if (stop.stop_requested()) return Status(Code::kCancelled, "stopped");
  const auto failed = [&](std::string_view why) {
    return Status(Code::kUnavailable, StrCat("metadata server ", *host, ": ", path, ": ", why));
  };
  if (!answer.ok())
    return failed(limit.token().stop_requested() ? std::string_view("no whole answer within 1 s")
                                                 : answer.status().message());
  // Another server that answers here, e.g. of a network that wants a login, has no values for us.
  if (answer->response.Header("metadata-flavor").value_or("") != "Google" || answer->response.status == 404)
    return none;
  if (answer->response.status != 200) return failed(StrCat("HTTP status ", answer->response.status));
  return std::optional(std::string(answer->body));
}

}  // namespace pipeline
