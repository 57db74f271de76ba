#include "storage/remote/gcs/gcs_batch.h"

#include <algorithm>
#include <utility>

#include "base/str.h"
#include "base/words.h"
#include "storage/remote/gcs/gcs_location.h"
#include "storage/remote/http/http_text.h"

namespace pipeline {

namespace {

constexpr std::string_view kBoundary = "pipe-batch";  // no line of a request begins with two hyphens
constexpr std::string_view kRequestId = "pipe-", kResponseId = "<response-pipe-";
constexpr std::size_t kLongestBoundary = 200;

using Answers = std::vector<std::optional<GcsError>>;

Status NoBatch() { return Status(Code::kUnavailable, "the answer is no batch of Google Cloud Storage"); }

/// Takes a line with its end off `text`; returns it without.
std::string_view TakeLine(std::string_view& text) {
  std::string_view line = TakeUntil(text, '\n');
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// Takes header lines and the empty line behind them off `text`. Absent: one of them is no header line.
std::optional<std::vector<HeaderLine>> TakeHeaders(std::string_view& text) {
  std::vector<HeaderLine> headers;
  while (!text.empty()) {
    const std::string_view line = TakeLine(text);
    if (line.empty()) break;
    std::optional<HeaderLine> header = ParseHeaderLine(line);
    if (!header) return std::nullopt;
    headers.push_back(std::move(*header));
  }
  return headers;
}

/// Empty: there is no such header.
std::string_view ValueOf(const std::vector<HeaderLine>& headers, std::string_view name) {
  const auto found = std::ranges::find(headers, name, &HeaderLine::name);
  return found == headers.end() ? std::string_view() : std::string_view(found->value);
}

/// Returns the parameter `boundary`; empty: there is none.
std::string BoundaryOf(std::string_view content_type) {
  if (MediaType(content_type) != "multipart/mixed") return {};
  constexpr std::string_view kParameter = "boundary=";
  const std::size_t at = content_type.find(kParameter);
  if (at == std::string_view::npos) return {};
  std::string_view value = content_type.substr(at + kParameter.size());
  const bool quoted = value.starts_with('"');
  if (quoted) value.remove_prefix(1);
  value = value.substr(0, value.find_first_of(quoted ? "\"" : "; \t"));
  return value.size() <= kLongestBoundary ? std::string(value) : std::string();
}

/// Returns the number of the request that `<response-pipe-7>` answers.
std::optional<std::size_t> RequestOf(std::string_view content_id) {
  if (!content_id.starts_with(kResponseId) || !content_id.ends_with('>')) return std::nullopt;
  content_id.remove_prefix(kResponseId.size());
  content_id.remove_suffix(1);
  const std::optional<std::size_t> request = ParseNumber<std::size_t>(content_id);
  return request && content_id == std::to_string(*request) ? request : std::nullopt;
}

/// Returns the status of `HTTP/1.1 204 No Content`.
std::optional<int> StatusOf(std::string_view line) {
  if (!line.starts_with("HTTP/")) return std::nullopt;
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::string_view digits = line.substr(space + 1, line.find(' ', space + 1) - space - 1);
  const std::optional<int> status = digits.size() == 3 ? ParseNumber<int>(digits) : std::nullopt;
  return status && *status >= 100 ? status : std::nullopt;
}

/// Adds the response that a part of the answer has. False: it has none.
bool AddPart(std::string_view part, Answers& answers) {
  const std::optional<std::vector<HeaderLine>> about = TakeHeaders(part);
  if (!about || MediaType(ValueOf(*about, "content-type")) != "application/http") return false;
  const std::optional<std::size_t> request = RequestOf(ValueOf(*about, "content-id"));
  const std::optional<int> status = StatusOf(TakeLine(part));
  if (!request || *request >= answers.size() || answers[*request] || !status) return false;
  if (!TakeHeaders(part)) return false;
  if (*status >= 400)
    answers[*request] = ParseGcsError(*status, part);
  else
    answers[*request] = GcsError{*status, {}, {}};
  return true;
}

/// Returns whether the object is not there in its generation any more.
bool IsGone(const GcsError& answer) {
  constexpr int kReplaced = 412;
  return (answer.status >= 200 && answer.status < 300) || answer.status == kReplaced ||
         (answer.status == 404 && !IsMissingBucket(answer));
}

/// Sends one batch. Returns an answer, or nothing, for each of `objects`.
Result<Answers> SendBatch(GcsClient& client, const std::string& bucket,
                          std::span<const GcsGeneration> objects, const std::stop_token& stop) {
  std::vector<std::string> urls;
  for (const GcsGeneration& object : objects)
    urls.push_back(client.ObjectUrl(bucket, object.name, StrCat("ifGenerationMatch=", object.generation))
                       .substr(client.settings().endpoint.url.size()));
  GcsBatch batch = EncodeGcsRemovals(urls);
  const HttpRequest request = {.method = "POST",
                               .url = client.BatchUrl(),
                               .headers = {{"Content-Type", std::move(batch.content_type)}},
                               .body = std::move(batch.body)};
  GcsOperation operation(client, StrCat("gs://", bucket, "/", objects.front().name), stop);
  ASSIGN_OR_RETURN(const GcsOperation::Answer answer, operation.Send(request));
  if (answer.status == 404 || answer.status == 405 || answer.status == 501) client.LeaveBatches();
  if (answer.status != 200) return Answers(objects.size());
  Result<Answers> answers = ParseGcsBatch(answer.response.Header("content-type").value_or(std::string_view()),
                                          answer.body, objects.size());
  return answers.ok() ? std::move(answers) : Answers(objects.size());
}

}  // namespace

Status RemoveGcsGenerations(const std::shared_ptr<GcsClient>& client, const std::string& bucket,
                            std::span<const GcsGeneration> objects, const std::stop_token& stop) {
  while (!objects.empty()) {
    const std::span<const GcsGeneration> some = objects.first(std::min(objects.size(), kMostInGcsBatch));
    Answers answers(some.size());
    if (some.size() > 1 && client->takes_batches()) {
      ASSIGN_OR_RETURN(answers, SendBatch(*client, bucket, some, stop));
    }
    for (std::size_t at = 0; at < some.size(); ++at) {
      if (answers[at] && IsGone(*answers[at])) continue;
      RETURN_IF_ERROR(RemoveGcsGeneration({client, bucket, some[at].name}, some[at].generation, stop));
    }
    objects = objects.subspan(some.size());
  }
  return {};
}

GcsBatch EncodeGcsRemovals(std::span<const std::string> urls) {
  GcsBatch batch{StrCat("multipart/mixed; boundary=", kBoundary), {}};
  for (std::size_t at = 0; at < urls.size(); ++at)
    batch.body += StrCat("--", kBoundary, "\r\nContent-Type: application/http\r\nContent-ID: <", kRequestId,
                         at, ">\r\n\r\nDELETE ", urls[at], " HTTP/1.1\r\n\r\n\r\n");
  batch.body += StrCat("--", kBoundary, "--\r\n");
  return batch;
}

Result<Answers> ParseGcsBatch(std::string_view content_type, std::string_view body, std::size_t requests) {
  const std::string boundary = BoundaryOf(content_type);
  if (boundary.empty()) return NoBatch();
  const std::string begin = StrCat("--", boundary), end = StrCat(begin, "--");
  Answers answers(requests);
  std::optional<std::size_t> part;  // where the part begins; absent: before the first one
  std::string_view rest = body;
  while (!rest.empty()) {
    const std::size_t at = body.size() - rest.size();
    const std::string_view line = TakeLine(rest);
    if (line != begin && line != end) continue;
    if (part && !AddPart(body.substr(*part, at - *part), answers)) return NoBatch();
    if (line == end) return answers;
    part = body.size() - rest.size();
  }
  return NoBatch();
}

}  // namespace pipeline
