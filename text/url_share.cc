#include "text/url_share.h"

#include <algorithm>
#include <array>

namespace pipeline {

namespace {

constexpr std::string_view kAfterScheme = "://";
constexpr std::string_view kHost = "www.";
constexpr std::array<std::string_view, 3> kSchemes = {"http", "https", "ftp"};

constexpr char Lower(char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr bool IsLetterOrDigit(char c) {
  return ('a' <= Lower(c) && Lower(c) <= 'z') || ('0' <= c && c <= '9');
}
constexpr bool IsUrlCharacter(char c) {
  return IsLetterOrDigit(c) || std::string_view("-._~:/?#[]@!$&'()*+,;=%").find(c) != std::string_view::npos;
}

/// Returns the bytes of the scheme at the end of `text`; 0: there is none.
std::size_t SchemeBefore(std::string_view text) {
  for (const std::string_view scheme : kSchemes) {
    if (text.size() < scheme.size()) continue;
    const std::string_view end = text.substr(text.size() - scheme.size());
    if (std::equal(end.begin(), end.end(), scheme.begin(), [](char a, char b) { return Lower(a) == b; }))
      return scheme.size();
  }
  return 0;
}

/// The next beginning of a URL.
struct Start {
  std::size_t at = std::string_view::npos;  // npos: none
  std::size_t body = 0;                     // position after the scheme or `www.`
};

Start NextScheme(std::string_view text, std::size_t from) {
  for (std::size_t at = from; (at = text.find(kAfterScheme, at)) != std::string_view::npos; ++at)
    if (const std::size_t scheme = SchemeBefore(text.substr(from, at - from)); scheme > 0)
      return {at - scheme, at + kAfterScheme.size()};
  return {};
}

Start NextHost(std::string_view text, std::size_t from) {
  for (std::size_t at = from; (at = text.find(kHost, at)) != std::string_view::npos; ++at)
    if (at == 0 || !IsLetterOrDigit(text[at - 1])) return {at, at + kHost.size()};
  return {};
}

}  // namespace

std::size_t CountUrlCharacters(std::string_view text) {
  std::size_t count = 0;
  Start scheme = NextScheme(text, 0);
  Start host = NextHost(text, 0);
  while (true) {
    const Start& start = scheme.at < host.at ? scheme : host;
    if (start.at == std::string_view::npos) return count;
    std::size_t end = start.body;
    while (end < text.size() && IsUrlCharacter(text[end])) ++end;
    if (end > start.body) count += end - start.at;
    if (scheme.at < end) scheme = NextScheme(text, end);
    if (host.at < end) host = NextHost(text, end);
  }
}

}  // namespace pipeline
