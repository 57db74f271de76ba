#include "cli/tpu/google_api.h"

#include <utility>

#include "base/str.h"
#include "base/terminal_text.h"
#include "storage/remote/http/http_text.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMostBody = 64 << 20;
constexpr std::size_t kMostMessage = 600;  // bytes; the API's own remedies are long
/// google.rpc.Code. Source: github.com/googleapis/googleapis, google/rpc/code.proto
constexpr int kInvalid = 3, kMissing = 5, kExists = 6, kDenied = 7, kExhausted = 8, kNotNow = 9, kAway = 14;

/// The code of a failure, as retries and decisions read it. A full quota has code 8, too, and is told apart
/// by who knows the API.
Code CodeOf(const ApiError& error) {
  switch (error.code) {
    case kInvalid: return Code::kInvalidArgument;
    case kMissing: return Code::kNotFound;
    case kExists: return Code::kAlreadyExists;
    case kDenied: return Code::kPermissionDenied;
    case kExhausted: return Code::kResourceExhausted;
    case kNotNow: return Code::kFailedPrecondition;
    case kAway: return Code::kUnavailable;
    default: break;
  }
  // Others of an operation, such as INTERNAL and ABORTED, and a conflict without a word may be another time.
  constexpr int kConflict = 409;
  return error.http == 0 || error.http == kConflict ? Code::kUnavailable : HttpCode(error.http);
}

/// Requests come too fast, as opposed to a quota of machines.
bool IsRate(const ApiError& error) {
  return error.http == 429 && error.message.find("per minute") != std::string::npos;
}

}  // namespace

ApiError ParseApiError(int http, const Json& error) {
  ApiError parsed;
  parsed.http = http;
  parsed.message = error["message"].AsString();
  // An operation has the number of google.rpc.Code; an answer has the HTTP status there, and the word.
  constexpr int kLeastHttp = 100;
  if (const std::int64_t code = error["code"].AsInt(); code > 0 && code < kLeastHttp)
    parsed.code = static_cast<int>(code);
  const std::pair<std::string_view, int> words[] = {{"INVALID_ARGUMENT", kInvalid},
                                                    {"NOT_FOUND", kMissing},
                                                    {"ALREADY_EXISTS", kExists},
                                                    {"PERMISSION_DENIED", kDenied},
                                                    {"RESOURCE_EXHAUSTED", kExhausted},
                                                    {"FAILED_PRECONDITION", kNotNow},
                                                    {"UNAVAILABLE", kAway}};
  for (const auto& [word, code] : words)
    if (error["status"].AsString() == word) parsed.code = code;
  return parsed;
}

Status FailureOf(ApiError error, const std::string& where) {
  const Code code = IsRate(error) ? Code::kUnavailable : CodeOf(error);
  std::string message = StrCat(
      where, ": ",
      error.message.empty() ? StrCat("HTTP status ", error.http) : Readable(error.message, kMostMessage));
  if (code == Code::kPermissionDenied && error.http == 401) message += StrCat("; ", kMakeCredentials);
  return Status(code, std::move(message)).With(std::make_shared<ApiError>(std::move(error)));
}

GoogleApi::GoogleApi(std::string endpoint, std::shared_ptr<HttpClient> http, std::shared_ptr<GcsAuth> auth,
                     RetryMeans means)
    : endpoint_(std::move(endpoint)), http_(std::move(http)), auth_(std::move(auth)), means_(means) {}

Result<std::unique_ptr<GoogleApi>> GoogleApi::Open(std::string endpoint, const char* variable,
                                                   const EnvironmentLookup& environment) {
  if (auto other = environment(variable)) {
    endpoint = std::move(*other);
    while (endpoint.ends_with('/')) endpoint.pop_back();
    if (IsThisMachine(endpoint))
      return std::make_unique<GoogleApi>(std::move(endpoint), SharedHttpClient(), nullptr, RetryMeans());
    if (!endpoint.starts_with("https://"))
      return Status(
          Code::kInvalidArgument,
          StrCat(variable, ": is neither https nor this machine: a token would be sent for all to read"));
  }
  const GcsTokenTools tools = UsualTokenTools();
  ASSIGN_OR_RETURN(GcsCredentials credentials, FindGcsCredentials(environment, GcsEndpoint(), tools));
  return std::make_unique<GoogleApi>(std::move(endpoint), tools.client,
                                     std::make_shared<GcsAuth>(std::move(credentials), tools), RetryMeans());
}

Result<ApiAnswer> GoogleApi::Get(const std::string& path, const std::stop_token& stop) {
  Retry retry(means_);
  while (true) {
    Result<ApiAnswer> answer = Once("GET", path, {}, stop);
    if (answer.ok() || answer.status().code() != Code::kUnavailable) return answer;
    RETURN_IF_ERROR(retry.Again(answer.status(), std::nullopt, stop));
  }
}

Result<ApiAnswer> GoogleApi::Send(const std::string& method, const std::string& path, const Json& body,
                                  const std::stop_token& stop) {
  return Once(method, path, body.is_null() ? std::string() : body.Dump(), stop);
}

Result<ApiAnswer> GoogleApi::Once(const std::string& method, const std::string& path, const std::string& body,
                                  const std::stop_token& stop) {
  constexpr int kUnauthorized = 401;
  for (bool first = true;; first = false) {
    std::optional<Secret> token;
    if (auth_) {
      ASSIGN_OR_RETURN(token, auth_->Token(stop));
    }
    Result<ApiAnswer> answer = Try(method, path, body, token, stop);
    const ApiError* const error = answer.status().Detail<ApiError>();
    if (!first || !token || error == nullptr || error->http != kUnauthorized) return answer;
    auth_->Reject(*token);  // it is over, and nothing was done
  }
}

Result<ApiAnswer> GoogleApi::Try(const std::string& method, const std::string& path, const std::string& body,
                                 const std::optional<Secret>& token, const std::stop_token& stop) {
  HttpRequest request;
  request.method = method;
  request.url = endpoint_ + path;
  if (!body.empty()) {
    request.headers.push_back({"Content-Type", "application/json"});
    request.body = body;
  }
  if (token) request.headers.push_back({"Authorization", StrCat("Bearer ", token->Reveal())});
  const std::string where = StrCat(method, " ", request.url.substr(0, request.url.find('?')));
  const Result<HttpAnswer> got = Fetch(*http_, request, kMostBody, stop);
  if (!got.ok()) return Status(got.status()).Annotate(where);
  const int status = got->response.status;
  const Result<Json> json = Json::Parse(got->body);
  constexpr int kLeastError = 400;
  if (status >= kLeastError)
    return FailureOf(ParseApiError(status, json.ok() ? (*json)["error"] : Json()), where);
  if (!json.ok()) return Status(Code::kUnavailable, StrCat(where, ": the answer is no JSON"));
  ApiAnswer answer{*json, std::nullopt};
  if (const auto date = got->response.Header("date")) answer.now = ParseHttpDate(*date);
  return answer;
}

}  // namespace pipeline
