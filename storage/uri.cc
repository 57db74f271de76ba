#include "storage/uri.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/enumeration.h"
#include "base/str.h"
#include "storage/percent.h"
#include "storage/store.h"

namespace pipeline {

namespace {

Status BadUri(std::string_view text, std::string_view why) {
  return Status(Code::kInvalidArgument, StrCat(text.empty() ? "''" : text, ": ", why));
}

constexpr bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr char ToLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// What stands before the first `:` when it can be a scheme (RFC 3986, 3.1), in lower case.
std::optional<std::string> SchemeWord(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  std::string word(text.substr(0, colon));
  std::transform(word.begin(), word.end(), word.begin(), ToLower);
  const bool fits = IsLower(word[0]) && std::all_of(word.begin(), word.end(), [](char c) {
                      return IsLower(c) || IsDigit(c) || c == '+' || c == '-' || c == '.';
                    });
  return fits ? std::optional(word) : std::nullopt;
}

std::string WithoutSlashesAtEnd(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return std::string(path);
}

Result<Uri> ParseFile(std::string_view text, std::string_view rest) {
  constexpr std::string_view kLocalhost = "localhost/";
  if (rest.substr(0, kLocalhost.size()) == kLocalhost) rest.remove_prefix(kLocalhost.size() - 1);
  if (rest.empty() || rest[0] != '/')
    return BadUri(text,
                  "names another machine or a relative path; write file:///absolute/path, or just the path");
  std::optional<std::string> path = PercentDecode(rest);
  if (!path) return BadUri(text, "a '%' is not followed by two hexadecimal digits; write it as %25");
  if (path->find('\0') != std::string::npos) return BadUri(text, "contains a NUL");
  return Uri{&kLocalScheme, {}, WithoutSlashesAtEnd(*path)};
}

Result<Uri> ParseBucket(std::string_view text, std::string_view rest, const Scheme& scheme) {
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view bucket = rest.substr(0, slash);
  const bool fits = std::all_of(bucket.begin(), bucket.end(), [](char c) {
    return IsLower(c) || IsDigit(c) || c == '-' || c == '_' || c == '.';
  });
  if (bucket.empty()) return BadUri(text, StrCat("names no bucket; write ", scheme.name, "://BUCKET/PATH"));
  if (!fits || bucket.size() < 3 || bucket.size() > 222)
    return BadUri(text, StrCat("'", bucket, "' cannot be a bucket: 3 to 222 of a-z 0-9 - _ ."));
  std::string_view path = rest.substr(std::min(slash + 1, rest.size()));
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  if (!path.empty()) {
    Status checked = CheckObjectName(path);
    if (!checked.ok()) return std::move(checked).Annotate(text);
  }
  return Uri{&scheme, std::string(bucket), std::string(path)};
}

Result<Uri> ParseWeb(std::string_view text, std::string_view rest, const Scheme& scheme) {
  const std::string shown = ShownUrl(text);  // people put keys into these
  const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  if (end == 0) return BadUri(shown, "names no host");
  if (end < rest.size() && rest[end] != '/') return BadUri(shown, "a '/' is missing after the host");
  if (std::any_of(rest.begin(), rest.end(), [](char c) { return static_cast<unsigned char>(c) <= ' '; }))
    return BadUri(shown, "contains a space or a control character; write it as %20 or the like");
  return Uri{&scheme, std::string(rest.substr(0, end)), std::string(rest.substr(end))};
}

}  // namespace

Result<Uri> Uri::Parse(std::string_view text) {
  if (text.empty()) return BadUri(text, "empty where a path or URI was expected");
  if (text.find('\0') != std::string_view::npos) return BadUri("path or URI", "contains a NUL");
  const std::optional<std::string> word = SchemeWord(text);
  const std::string_view after = word ? text.substr(word->size() + 1) : std::string_view();
  const bool has_slashes = after.substr(0, 2) == "//";
  if (const Scheme* known = word ? FindScheme(*word) : nullptr) {
    if (!has_slashes) return BadUri(ShownUrl(text), StrCat("'//' is missing after '", *word, ":'"));
    const std::string_view rest = after.substr(2);
    switch (known->form) {
      case Scheme::Form::kPath: return ParseFile(text, rest);
      case Scheme::Form::kBucket: return ParseBucket(text, rest, *known);
      case Scheme::Form::kWeb: return ParseWeb(text, rest, *known);
    }
  }
  if (has_slashes) {
    std::vector<std::string_view> names;
    for (const Scheme* known : Schemes()) names.push_back(known->name);
    return BadUri(ShownUrl(text),
                  StrCat("unknown scheme '", *word, "'; use a path, ", Enumeration(names, "or")));
  }
  if (text == "~" || text.substr(0, 2) == "~/")
    return BadUri(text, "'~' has no meaning here; write the path of the directory itself");
  return Uri{&kLocalScheme, {}, WithoutSlashesAtEnd(text)};
}

std::string Uri::ToString() const {
  if (is_local()) return path;
  const bool needs_slash = scheme->form == Scheme::Form::kBucket && !path.empty();
  return StrCat(scheme->name, "://", authority, needs_slash ? "/" : "", path);
}

Uri Uri::Join(std::string_view name) const {
  const bool needs_slash = !path.empty() && path.back() != '/';
  return {scheme, authority, StrCat(path, needs_slash ? "/" : "", name)};
}

std::string_view Uri::LastPart() const {
  std::string_view part = path;
  if (scheme->form == Scheme::Form::kWeb) part = part.substr(0, part.find_first_of("?#"));
  return part.substr(part.rfind('/') + 1);
}

bool IsRemote(std::string_view uri) {
  const Result<Uri> place = Uri::Parse(uri);
  return place.ok() && !place->is_local();
}

std::string ShownUrl(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  const std::size_t scheme = url.find("://");
  const std::size_t host = scheme == std::string_view::npos ? 0 : scheme + 3;
  const std::size_t end = std::min(url.find('/', host), url.size());
  std::string_view authority = url.substr(host, end - host);
  authority = authority.substr(authority.rfind('@') + 1);
  const std::size_t port = authority.find(':', authority.rfind(']') + 1);
  const bool is_plain =
      port == std::string_view::npos ||  // else perhaps the beginning of a password
      std::all_of(authority.begin() + static_cast<std::ptrdiff_t>(port) + 1, authority.end(), IsDigit);
  std::string shown(url.substr(0, host));
  shown += is_plain ? authority : "…";
  shown += url.substr(end);
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  std::replace_if(shown.begin(), shown.end(), is_control, '?');
  return shown;
}

}  // namespace pipeline
