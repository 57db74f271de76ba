#include "storage/remote/gcs/gcs_client.h"

#include <utility>

#include "base/str.h"
#include "storage/percent.h"
#include "storage/remote/http/http_client.h"
#include "storage/remote/http/http_text.h"

namespace pipeline {

namespace {

constexpr std::size_t kMaxErrorBody = 64 << 10;

/// Reads the body, or its first `most` bytes.
Result<std::string> ReadBody(ByteReader& reader, std::size_t most) {
  std::string body;
  std::string piece(16 << 10, '\0');
  while (body.size() < most) {
    ASSIGN_OR_RETURN(const std::size_t got, reader.Read(piece));
    if (got == 0) break;
    body.append(piece, 0, got);
  }
  return body;
}

bool IsRateLimit(const GcsError& error) {
  return error.status == 403 &&
         (error.reason == "rateLimitExceeded" || error.reason == "userRateLimitExceeded");
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Returns "gs://bucket" for "gs://bucket/object".
std::string_view BucketOf(std::string_view where) { return where.substr(0, where.find('/', 5)); }

}  // namespace

std::string GcsClient::Url(std::string_view path, std::string_view query) const {
  std::string url = StrCat(settings_.endpoint.url, path, "?prettyPrint=false");
  if (!query.empty()) url.append("&").append(query);
  if (!settings_.user_project.empty())
    url.append("&userProject=").append(PercentEncode(settings_.user_project));
  return url;
}

std::string GcsClient::ObjectUrl(std::string_view bucket, std::string_view object,
                                 std::string_view query) const {
  return Url(
      StrCat("/storage/v1/b/", PercentEncode(bucket), "/o", object.empty() ? "" : "/", PercentEncode(object)),
      query);
}

std::string GcsClient::BucketUrl(std::string_view bucket, std::string_view query) const {
  return Url(StrCat("/storage/v1/b/", PercentEncode(bucket)), query);
}

std::string GcsClient::UploadUrl(std::string_view bucket, std::string_view query) const {
  return Url(StrCat("/upload/storage/v1/b/", PercentEncode(bucket), "/o"), query);
}

std::string GcsClient::BatchUrl() const { return StrCat(settings_.endpoint.url, "/batch/storage/v1"); }

GcsOperation::GcsOperation(GcsClient& client, std::string where, std::stop_token stop)
    : client_(client), where_(std::move(where)), stop_(std::move(stop)), retry_(client.settings().means) {}

Result<GcsReply> GcsOperation::Start(HttpRequest request) {
  asked_.reset();
  // The URI of a session may lead to another server; the URI alone authorizes requests there, so the token is
  // not sent.
  const std::string& ours = client_.settings().endpoint.url;
  std::optional<Secret> token;
  if (request.url.substr(0, ours.size() + 1) == ours + "/") {
    ASSIGN_OR_RETURN(token, client_.auth().Token(stop_));
  }
  if (token) request.headers.push_back({"Authorization", StrCat("Bearer ", token->Reveal())});
  Result<std::unique_ptr<HttpExchange>> started = client_.http().Start(request, stop_);
  if (!started.ok()) return std::move(started).status().Annotate(where_);
  GcsReply reply;
  reply.exchange = std::move(started).value();
  reply.response = reply.exchange->response();
  const int status = reply.status();
  if (status != 401) refused_ = false;
  if (status < 400) return reply;

  asked_ = AskedPause(reply.response, client_.settings().means.clock->UnixMillis());
  const Result<std::string> body = ReadBody(*reply.exchange, kMaxErrorBody);
  reply.exchange.reset();
  reply.error = ParseGcsError(status, body.ok() ? std::string_view(*body) : std::string_view());
  if (status == 401) return Refused(reply.response, token);
  constexpr int kNotImplemented = 501;  // another attempt has the same answer
  const bool is_server_error = status >= 500 && status != kNotImplemented;
  if (status == 408 || status == 429 || is_server_error || IsRateLimit(reply.error))
    return Unavailable(StrCat("answered with status ", status));
  return reply;
}

Status GcsOperation::Refused(const HttpResponse& response, const std::optional<Secret>& token) {
  bool clock_is_wrong = false;
  if (const auto date = response.Header("date"))
    if (const auto seconds = ParseHttpDate(*date)) clock_is_wrong = client_.auth().NoteServerTime(*seconds);
  if (!token)
    return Status(
        Code::kPermissionDenied,
        StrCat(where_, ": is not public, and there are no credentials on this machine; ", kMakeCredentials));
  client_.auth().Reject(*token);
  if (!std::exchange(refused_, true)) {
    at_once_ = true;
    return Unavailable("the access token is no longer good");
  }
  return Status(
      Code::kPermissionDenied,
      StrCat(where_, ": the credentials of ", client_.auth().origin(), " are refused; ",
             clock_is_wrong ? "this machine's clock is wrong: set it, for example with: timedatectl set-ntp "
                              "true"
                            : "make new ones with: gcloud auth application-default login"));
}

Status GcsOperation::Again(Status failure) {
  // A request with a new token needs no pause.
  if (std::exchange(at_once_, false)) return {};
  return retry_.Again(std::move(failure), std::exchange(asked_, std::nullopt), stop_);
}

Result<GcsOperation::Answer> GcsOperation::SendOnce(const HttpRequest& request, std::size_t most) {
  ASSIGN_OR_RETURN(GcsReply reply, Start(request));
  Answer answer{reply.status(), std::move(reply.response), {}, std::move(reply.error)};
  if (!reply.exchange) return answer;
  Result<std::string> body = ReadBody(*reply.exchange, most);
  if (!body.ok()) return std::move(body).status().Annotate(where_);
  answer.body = std::move(body).value();
  return answer;
}

Result<GcsOperation::Answer> GcsOperation::Send(const HttpRequest& request) {
  for (;;) {
    Result<Answer> answer = SendOnce(request);
    if (answer.ok()) return answer;
    RETURN_IF_ERROR(Again(std::move(answer).status()));
  }
}

Status GcsOperation::Unavailable(std::string_view why) const {
  return Status(Code::kUnavailable, StrCat(where_, ": Google Cloud Storage: ", why));
}

Status GcsOperation::Failure(const GcsError& error) const {
  const std::string_view bucket = BucketOf(where_);
  const std::string said = error.message.empty() ? "" : StrCat(": ", error.message);
  switch (error.status) {
    case 400:
      if (Contains(error.message, "requester pays") || error.reason == "userProjectMissing")
        return Status(Code::kInvalidArgument, StrCat(where_,
                                                     ": readers pay for this bucket; name the user "
                                                     "project that pays: export PIPE_USER_PROJECT=PROJECT"));
      return Status(Code::kInvalidArgument, StrCat(where_, ": refused", said));
    case 403:
      if (Contains(error.message, "scope"))
        return Status(Code::kPermissionDenied,
                      StrCat(where_, ": this machine was made without the scope for it", said,
                             "; stop it and run: gcloud compute instances set-service-account NAME --scopes "
                             "cloud-platform"));
      return Status(Code::kPermissionDenied,
                    StrCat(where_, ": permission denied", said,
                           "; grant it with: gcloud storage buckets add-iam-policy-binding ", bucket,
                           " --member=user:YOU --role=roles/storage.objectUser"));
    case 404:
      if (Contains(error.message, "bucket does not exist"))
        return Status(
            Code::kNotFound,
            StrCat(bucket, ": no such bucket; make it with: gcloud storage buckets create ", bucket));
      return Status(Code::kNotFound, StrCat(where_, ": no such object"));
    case 412: return Status(Code::kFailedPrecondition, StrCat(where_, ": was replaced by somebody else"));
    default: break;
  }
  return Status(Code::kInternal, StrCat(where_, ": answered with status ", error.status, said));
}

}  // namespace pipeline
