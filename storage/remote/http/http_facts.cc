#include "storage/remote/http/http_facts.h"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "base/str.h"
#include "storage/remote/http/http_client.h"
#include "storage/remote/http/http_text.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

std::string HeaderOf(const HttpResponse& response, std::string_view name) {
  return std::string(response.Header(name).value_or(std::string_view()));
}

std::string_view WithoutQuery(std::string_view url) { return url.substr(0, url.find_first_of("?#")); }

std::optional<std::uint64_t> LengthOf(const HttpResponse& response) {
  return ParseLength(response.Header("content-length").value_or(std::string_view()));
}

std::string CodingOf(const HttpResponse& response, const std::string& url) {
  std::vector<std::string_view> values;
  for (const HttpHeader& header : response.headers)
    if (header.name == "content-encoding") values.push_back(header.value);
  return ContentCoding(values, url);
}

HttpFacts FactsOf(const HttpResponse& response, std::uint64_t size, const std::string& url) {
  return {.size = size,
          .etag = HeaderOf(response, "etag"),
          .last_modified = HeaderOf(response, "last-modified"),
          .final_url = response.url,
          .takes_ranges = response.status == 206 || HeaderOf(response, "accept-ranges") == "bytes",
          .coding = CodingOf(response, url)};
}

/// Returns whether the server refused the method HEAD and not the file: some servers know only GET, or signed
/// this address for GET alone.
bool IsRefusalOfHead(int status) {
  constexpr std::array<int, 7> kOfTheFile = {404, 408, 410, 429, 502, 503, 504};
  return std::find(kOfTheFile.begin(), kOfTheFile.end(), status) == kOfTheFile.end();
}

class Asking {
 public:
  Asking(HttpClient& client, const std::string& url, const HttpMeans& means, std::stop_token stop)
      : client_(client), url_(url), means_(means), stop_(std::move(stop)) {}

  Result<HttpFacts> Once() {
    asked_pause_.reset();
    HttpRequest request = RequestFor(url_, means_);
    request.method = "HEAD";
    ASSIGN_OR_RETURN(const HttpResponse head, Respond(request));
    if (head.status == 200) {
      RETURN_IF_ERROR(CheckIsFile(head, url_));
      if (const std::optional<std::uint64_t> size = LengthOf(head)) return FactsOf(head, *size, url_);
    } else if (!IsRefusalOfHead(head.status)) {
      return HttpError(head, url_, "");
    }
    return ByOneByte();
  }

  std::optional<std::chrono::milliseconds> asked_pause() const { return asked_pause_; }

 private:
  Result<HttpFacts> ByOneByte() {
    HttpRequest request = RequestFor(url_, means_);
    request.headers.push_back({"Range", "bytes=0-0"});
    ASSIGN_OR_RETURN(const HttpResponse got, Respond(request));
    const auto range = ParseContentRange(got.Header("content-range").value_or(std::string_view()));
    const bool has_range = got.status == 206 || got.status == 416;
    const std::optional<std::uint64_t> size = !has_range ? LengthOf(got) : range ? range->size : std::nullopt;
    if (got.status == 416 && size == 0u) return FactsOf(got, 0, url_);
    if (got.status != 200 && got.status != 206) return HttpError(got, url_, "");
    RETURN_IF_ERROR(CheckIsFile(got, url_));
    if (size) return FactsOf(got, *size, url_);
    if (HttpFacts encoded = FactsOf(got, 0, url_); !encoded.coding.empty()) return encoded;
    return Status(Code::kFailedPrecondition, StrCat(ShownUrl(url_),
                                                    ": the server does not say how large it is; "
                                                    "download it, or find another server"));
  }

  Result<HttpResponse> Respond(const HttpRequest& request) {
    ASSIGN_OR_RETURN(const std::unique_ptr<HttpExchange> exchange, client_.Start(request, stop_));
    asked_pause_ = AskedPause(exchange->response(), means_.retry.clock->UnixMillis());
    return exchange->response();
  }

  HttpClient& client_;
  const std::string& url_;
  const HttpMeans means_;
  const std::stop_token stop_;
  std::optional<std::chrono::milliseconds> asked_pause_;
};

}  // namespace

std::string HttpFacts::Version() const {
  if (!etag.empty()) return etag;
  return last_modified.empty() ? std::string() : StrCat(last_modified, ", ", size, " bytes");
}

std::string HttpFacts::Validator() const { return IsStrongTag(etag) ? etag : last_modified; }

HttpRequest RequestFor(const std::string& url, const HttpMeans& means) {
  HttpRequest request{.url = url, .redirects = kHttpRedirects, .stall = means.stall};
  request.headers = {{"Accept-Encoding", "identity"}};
  return request;
}

Status CheckIsPlain(const HttpResponse& response, const std::string& url) {
  HttpFacts facts = FactsOf(response, LengthOf(response).value_or(0), url);
  return facts.coding.empty() ? Status() : EncodedAs(std::move(facts), url);
}

Status EncodedAs(HttpFacts facts, const std::string& url) {
  Status encoded(
      Code::kFailedPrecondition,
      StrCat(ShownUrl(url), ": the server sends it encoded (", facts.coding,
             "), although it was asked for it as it is stored; download it, or find another server"));
  return std::move(encoded).With(std::make_shared<EncodedBody>(std::move(facts)));
}

Status CheckUnchanged(const HttpFacts& facts, const HttpResponse& response, std::optional<std::uint64_t> size,
                      bool is_rest, const std::string& url) {
  const std::string etag = HeaderOf(response, "etag"), last_modified = HeaderOf(response, "last-modified");
  std::string what;
  if (size && *size != facts.size)
    what = StrCat("it had ", facts.size, " bytes and has ", *size);
  else if (!etag.empty() && !facts.etag.empty())
    what = etag == facts.etag ? "" : "its ETag is another one";
  else if (!last_modified.empty() && !facts.last_modified.empty() && last_modified != facts.last_modified)
    what = "its Last-Modified is another one";
  const bool is_comparable =
      (!etag.empty() && !facts.etag.empty()) || (!last_modified.empty() && !facts.last_modified.empty());
  if (what.empty() && is_rest && !facts.Version().empty() && !is_comparable)
    return Status(Code::kDataLoss,
                  StrCat(ShownUrl(url),
                         ": the answer with the rest of it has neither ETag nor Last-Modified, though "
                         "the first one had: it may be of another version; run it again, and all "
                         "of it is fetched anew; pinned by `checksum` it goes on where it was"))
        .With(std::make_shared<NoRest>());
  if (what.empty()) return {};
  return Status(Code::kDataLoss,
                StrCat(ShownUrl(url), ": changed while it was read: ", what, "; run it again"));
}

Status CheckIsFile(const HttpResponse& response, const std::string& url) {
  const std::string type = MediaType(HeaderOf(response, "content-type"));
  if (type != "text/html" && type != "application/xhtml+xml") return {};
  const std::string_view path = WithoutQuery(url);
  for (const std::string_view end : {".html", ".htm", ".xhtml", ".HTML", ".HTM"})
    if (path.size() > end.size() && path.substr(path.size() - end.size()) == end) return {};
  const std::string_view final_path = WithoutQuery(response.url);
  if (final_path.back() == '/' && path.back() != '/')
    return Status(Code::kNotFound, StrCat(ShownUrl(url), ": is a directory on the server, not a file"));
  return Status(
      Code::kFailedPrecondition,
      StrCat(ShownUrl(url), ": the server answers with a web page (", type, ", ", response.status,
             ") in place of the file; open the address in a browser: perhaps it wants a login or an "
             "agreement first, or the file has moved"));
}

Result<HttpFacts> AskFacts(HttpClient& client, const std::string& url, const HttpMeans& means,
                           std::stop_token stop) {
  Asking asking(client, url, means, stop);
  Retry retry(means.retry);
  for (;;) {
    Result<HttpFacts> facts = asking.Once();
    if (facts.ok()) return facts;
    RETURN_IF_ERROR(retry.Again(std::move(facts).status(), asking.asked_pause(), stop));
  }
}

}  // namespace pipeline
