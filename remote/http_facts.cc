#include "remote/http_facts.h"

#include <algorithm>
#include <array>

#include "base/str.h"
#include "remote/http_error.h"
#include "remote/http_text.h"
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

HttpFacts FactsOf(const HttpResponse& response, std::uint64_t size) {
  HttpFacts facts;
  facts.size = size;
  facts.etag = HeaderOf(response, "etag");
  facts.last_modified = HeaderOf(response, "last-modified");
  facts.final_url = response.url;
  facts.takes_ranges = response.status == 206 || HeaderOf(response, "accept-ranges") == "bytes";
  return facts;
}

/// Whether HEAD was refused, and not the file: some servers know GET only, or signed this address for it
/// alone.
bool IsRefusalOfHead(int status) {
  constexpr std::array<int, 7> kOfTheFile = {404, 408, 410, 429, 502, 503, 504};
  return std::find(kOfTheFile.begin(), kOfTheFile.end(), status) == kOfTheFile.end();
}

class Asking {
 public:
  Asking(HttpClient& client, const std::string& url, const Clock& clock, std::stop_token stop)
      : client_(client), url_(url), clock_(clock), stop_(std::move(stop)) {}

  Result<HttpFacts> Once() {
    asked_pause_.reset();
    ASSIGN_OR_RETURN(const HttpResponse head,
                     Respond({.method = "HEAD", .url = url_, .redirects = kHttpRedirects}));
    if (head.status == 200) {
      RETURN_IF_ERROR(CheckIsFile(head, url_));
      if (const std::optional<std::uint64_t> size = LengthOf(head)) return FactsOf(head, *size);
    } else if (!IsRefusalOfHead(head.status)) {
      return HttpError(head, url_, "");
    }
    return ByOneByte();
  }

  std::optional<std::chrono::milliseconds> asked_pause() const { return asked_pause_; }

 private:
  Result<HttpFacts> ByOneByte() {
    HttpRequest request{.url = url_, .redirects = kHttpRedirects};
    request.headers = {{"Range", "bytes=0-0"}};
    ASSIGN_OR_RETURN(const HttpResponse got, Respond(request));
    const auto range = ParseContentRange(got.Header("content-range").value_or(std::string_view()));
    const bool has_range = got.status == 206 || got.status == 416;
    const std::optional<std::uint64_t> size = !has_range ? LengthOf(got) : range ? range->size : std::nullopt;
    if (got.status == 416 && size == 0u) return FactsOf(got, 0);
    if (got.status != 200 && got.status != 206) return HttpError(got, url_, "");
    RETURN_IF_ERROR(CheckIsFile(got, url_));
    if (size) return FactsOf(got, *size);
    return Status(Code::kFailedPrecondition, StrCat(ShownUrl(url_),
                                                    ": the server does not say how large it is; "
                                                    "download it, or find another server"));
  }

  Result<HttpResponse> Respond(const HttpRequest& request) {
    ASSIGN_OR_RETURN(const std::unique_ptr<HttpExchange> exchange, client_.Start(request, stop_));
    asked_pause_ = AskedPause(exchange->response(), clock_.UnixMillis());
    return exchange->response();
  }

  HttpClient& client_;
  const std::string& url_;
  const Clock& clock_;
  const std::stop_token stop_;
  std::optional<std::chrono::milliseconds> asked_pause_;
};

}  // namespace

std::string HttpFacts::Version() const {
  if (!etag.empty()) return etag;
  return last_modified.empty() ? std::string() : StrCat(last_modified, ", ", size, " bytes");
}

std::string HttpFacts::Validator() const { return IsStrongTag(etag) ? etag : last_modified; }

Status CheckUnchanged(const HttpFacts& facts, const HttpResponse& response, std::optional<std::uint64_t> size,
                      const std::string& url) {
  const std::string etag = HeaderOf(response, "etag"), last_modified = HeaderOf(response, "last-modified");
  std::string what;
  if (size && *size != facts.size)
    what = StrCat("it had ", facts.size, " bytes and has ", *size);
  else if (!etag.empty() && !facts.etag.empty())
    what = etag == facts.etag ? "" : "its ETag is another one";
  else if (!last_modified.empty() && !facts.last_modified.empty() && last_modified != facts.last_modified)
    what = "its Last-Modified is another one";
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

Result<HttpFacts> AskFacts(HttpClient& client, const std::string& url, const RetryMeans& means,
                           std::stop_token stop) {
  Asking asking(client, url, *means.clock, stop);
  Retry retry(means);
  for (;;) {
    Result<HttpFacts> facts = asking.Once();
    if (facts.ok()) return facts;
    RETURN_IF_ERROR(retry.Again(std::move(facts).status(), asking.asked_pause(), stop));
  }
}

}  // namespace pipeline
