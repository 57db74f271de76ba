// Several requests in one: POST /batch/storage/v1.
#include <optional>
#include <utility>
#include <vector>

#include "base/str.h"
#include "storage/remote/http/http_text.h"
#include "tests/support/fake_gcs.h"

namespace pipeline {

namespace {

using Kind = FakeFault::Kind;

constexpr std::size_t kMostParts = 100;
constexpr std::string_view kAnswerBoundary = "batch_of-the-fake";

std::string_view TakeLine(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::vector<HttpHeader> TakeHeaders(std::string_view& text) {
  std::vector<HttpHeader> headers;
  for (std::string_view line = TakeLine(text); !line.empty(); line = TakeLine(text))
    if (const std::optional<HeaderLine> header = ParseHeaderLine(line))
      headers.push_back({header->name, header->value});
  return headers;
}

std::string ValueOf(const std::vector<HttpHeader>& headers, std::string_view name) {
  for (const HttpHeader& header : headers)
    if (header.name == name) return header.value;
  return {};
}

/// A part of a batch, and what the fake says to it.
class Part final : public ServedExchange {
 public:
  Part(std::string content_id, ServedRequest request, std::string body)
      : content_id_(std::move(content_id)), request_(std::move(request)), body_(std::move(body)) {}

  const ServedRequest& request() const override { return request_; }
  bool ReadBody(std::span<char> out, std::size_t& got) override {
    got = body_.copy(out.data(), out.size());
    body_.erase(0, got);
    return true;
  }
  bool ReadWholeBody(std::string& body) override {
    body = std::move(body_);
    return true;
  }
  bool Begin(int status, const std::vector<HttpHeader>& headers, std::optional<std::uint64_t>) override {
    return Answer(status, headers, "");
  }
  bool Write(std::string_view bytes) override {
    said_ += bytes;
    return true;
  }
  bool Answer(int status, const std::vector<HttpHeader>& headers, std::string_view body) override {
    status_ = status;
    headers_ = headers;
    said_ = body;
    return true;
  }
  bool WriteRaw(std::string_view) override { return false; }
  // A server that loses the answer to a part still answers the batch.
  void Reset() override { Answer(503, {}, ""); }
  void HangUp() override { Reset(); }
  void Stall(std::chrono::milliseconds) override {}

  std::string Told() const {
    std::string text = StrCat("--", kAnswerBoundary, "\r\nContent-Type: application/http\r\n");
    if (!content_id_.empty()) text += StrCat("Content-ID: <response-", content_id_.substr(1), "\r\n");
    text += StrCat("\r\nHTTP/1.1 ", status_, status_ < 300 ? " OK" : " Refused", "\r\n");
    for (const HttpHeader& header : headers_) text += StrCat(header.name, ": ", header.value, "\r\n");
    return StrCat(text, "Content-Length: ", said_.size(), "\r\n\r\n", said_, "\r\n");
  }

 private:
  const std::string content_id_;  // <…>; empty: the part has none
  const ServedRequest request_;
  std::string body_;
  int status_ = 500;
  std::vector<HttpHeader> headers_;
  std::string said_;
};

/// Absent: it is no part with a request. `outer`: of the batch; its headers count for each part, but for
/// those of its content.
std::optional<Part> ParsePart(std::string_view text, const ServedRequest& outer, const std::string& url) {
  const std::vector<HttpHeader> about = TakeHeaders(text);
  if (MediaType(ValueOf(about, "content-type")) != "application/http") return std::nullopt;
  std::string content_id = ValueOf(about, "content-id");
  if (!content_id.empty() && !content_id.starts_with('<')) return std::nullopt;
  std::string_view line = TakeLine(text);
  constexpr std::string_view kVersion = " HTTP/1.1";
  if (!line.ends_with(kVersion)) return std::nullopt;
  line.remove_suffix(kVersion.size());
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  ServedRequest request;
  request.method = line.substr(0, space);
  std::string_view target = line.substr(space + 1);
  if (target.starts_with(url)) target.remove_prefix(url.size());  // as the official client of Python sends it
  if (!target.starts_with("/storage/v1/")) return std::nullopt;
  const std::size_t mark = std::min(target.find('?'), target.size());
  request.path = target.substr(0, mark);
  request.query = target.substr(std::min(mark + 1, target.size()));
  request.headers = TakeHeaders(text);
  for (const HttpHeader& header : outer.headers)
    if (!header.name.starts_with("content-") && request.Header(header.name).empty())
      request.headers.push_back(header);
  return Part(std::move(content_id), std::move(request), std::string(text));
}

/// Absent: it is no batch.
std::optional<std::vector<Part>> ParseParts(std::string_view body, const ServedRequest& outer,
                                            const std::string& url) {
  const std::string_view type = outer.Header("content-type");
  const std::size_t at = type.find("boundary=");
  if (MediaType(type) != "multipart/mixed" || at == std::string_view::npos) return std::nullopt;
  std::string boundary(type.substr(at + 9));
  std::erase(boundary, '"');
  const std::string begin = StrCat("--", boundary), end = StrCat(begin, "--");
  std::vector<Part> parts;
  std::string part;
  bool begun = false;
  while (!body.empty()) {
    const std::string_view before = body, line = TakeLine(body);
    if (line != begin && line != end) {
      part += before.substr(0, before.size() - body.size());
      continue;
    }
    std::optional<Part> parsed = begun ? ParsePart(part, outer, url) : std::nullopt;
    if (begun && !parsed) return std::nullopt;
    if (parsed) parts.push_back(*std::move(parsed));
    if (line == end) return parts;
    part.clear();
    begun = true;
  }
  return std::nullopt;
}

}  // namespace

void FakeGcs::HandleBatch(FakeGcsCall& call) {
  std::string body;
  if (!call.exchange.ReadWholeBody(body)) return;
  std::optional<std::vector<Part>> parts = ParseParts(body, call.request(), world_.url);
  call.operation = kFakeBatch;
  if (parts && !parts->empty()) call.object = parts->front().request().path;  // faults take turns by it
  if (!Admit(call)) return;
  if (call.request().method != "POST" || !parts || parts->empty() || parts->size() > kMostParts) {
    call.Error(400, "badRequest", "Failed to parse batch request.");
    return;
  }
  std::string answer;
  for (Part& part : *parts) {
    FakeGcsCall one{world_, part, {}, {}, {}, {}, {}, {}, true};
    HandleRequest(one);
    answer += part.Told();
  }
  answer += StrCat("--", kAnswerBoundary, "--\r\n");
  if (call.fault.kind == Kind::kAfterCommit) {
    world_.faults.Count("N");
    if (call.fault.status == 0) return call.exchange.Reset();
    call.Error(call.fault.status);
    return;
  }
  if (call.fault.kind == Kind::kBrokenStream) {
    world_.faults.Count("-");
    answer.resize(answer.size() / 2);
  }
  world_.moments.Pass();
  call.exchange.Answer(200, {{"Content-Type", StrCat("multipart/mixed; boundary=", kAnswerBoundary)}},
                       answer);
}

}  // namespace pipeline
