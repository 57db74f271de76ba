#include "storage/remote/http/http_address.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include "base/str.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

Status Bad(std::string_view url, std::string_view why) {
  return Status(Code::kInvalidArgument, StrCat(ShownUrl(url), ": ", why));
}

using UrlHandle = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

std::optional<std::string> Part(const UrlHandle& url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, flags) != CURLUE_OK) return std::nullopt;
  std::string copy(text);
  curl_free(text);
  return copy;
}

}  // namespace

Result<std::string> HttpServerOf(const std::string& url) {
  const UrlHandle parsed(curl_url(), &curl_url_cleanup);
  if (url.find('\0') != std::string::npos ||
      curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
    return Bad(url, "cannot be an address; write https://HOST/PATH");
  const std::optional<std::string> scheme = Part(parsed, CURLUPART_SCHEME);
  std::optional<std::string> host = Part(parsed, CURLUPART_HOST);
  const std::optional<std::string> port = Part(parsed, CURLUPART_PORT, CURLU_DEFAULT_PORT);
  if (!scheme || (*scheme != "http" && *scheme != "https"))
    return Bad(url, "has another scheme than http and https");
  if (!host || host->empty() || !port) return Bad(url, "names no host");
  std::transform(host->begin(), host->end(), host->begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (host->back() == '.') host->pop_back();
  return StrCat(*scheme, "://", *host, ":", *port);
}

std::optional<std::string> ResolveLocation(const std::string& base, std::string_view location) {
  const UrlHandle parsed(curl_url(), &curl_url_cleanup);
  const std::string text(location);
  constexpr unsigned kFlags = CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE;
  if (curl_url_set(parsed.get(), CURLUPART_URL, base.c_str(), kFlags) != CURLUE_OK ||
      curl_url_set(parsed.get(), CURLUPART_URL, text.c_str(), kFlags) != CURLUE_OK)
    return std::nullopt;
  return Part(parsed, CURLUPART_URL);
}

std::string HttpLibraryVersion() {
  const curl_version_info_data& facts = *curl_version_info(CURLVERSION_NOW);
  return StrCat(facts.version, " (", facts.ssl_version != nullptr ? facts.ssl_version : "no TLS", ")");
}

}  // namespace pipeline
