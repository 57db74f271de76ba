#include "storage/remote/http/http_text.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/words.h"

namespace pipeline {

namespace {

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr char ToLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

/// The grammar is in RFC 9110, 5.6.2.
bool IsToken(std::string_view name) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    const char lower = ToLower(c);
    return IsDigit(c) || (lower >= 'a' && lower <= 'z') || kOthers.find(c) != std::string_view::npos;
  });
}

std::optional<int> SmallNumber(std::string_view text) {
  const std::optional<std::uint64_t> number = ParseLength(text);
  return number && *number <= 9999 ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

std::optional<int> MonthOf(std::string_view word) {
  constexpr std::array<std::string_view, 12> kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                                                        "jul", "aug", "sep", "oct", "nov", "dec"};
  const auto found = std::find(kMonths.begin(), kMonths.end(), Lower(word));
  return found == kMonths.end() ? std::nullopt : std::optional(static_cast<int>(found - kMonths.begin()) + 1);
}

/// Returns the seconds of `08:49:37`; a leap second is allowed.
std::optional<int> TimeOfDay(std::string_view text) {
  const std::optional<int> hour = SmallNumber(TakeUntil(text, ':'));
  const std::optional<int> minute = SmallNumber(TakeUntil(text, ':'));
  const std::optional<int> second = SmallNumber(text);
  if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return (*hour * 60 + *minute) * 60 + *second;
}

std::optional<std::int64_t> SecondsOf(std::optional<int> year, std::optional<int> month,
                                      std::optional<int> day, std::optional<int> seconds) {
  if (!year || !month || !day || !seconds) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok() || *year < 1970) return std::nullopt;
  return std::int64_t{std::chrono::sys_days(date).time_since_epoch().count()} * 86'400 + *seconds;
}

/// Two codings have an older name: RFC 9110, 8.4.1.
std::string_view CodingNamed(std::string_view name) {
  if (name == "x-gzip") return "gzip";
  return name == "x-compress" ? "compress" : name;
}

bool EndsIn(std::string_view name, std::string_view coding) {
  struct Ending {
    std::string_view coding, end;
  };
  constexpr std::array<Ending, 8> kEndings = {{{"gzip", ".gz"},
                                               {"gzip", ".tgz"},
                                               {"zstd", ".zst"},
                                               {"zstd", ".zstd"},
                                               {"zstd", ".tzst"},
                                               {"br", ".br"},
                                               {"deflate", ".zz"},
                                               {"compress", ".z"}}};
  return std::any_of(kEndings.begin(), kEndings.end(), [&](const Ending& ending) {
    return ending.coding == coding && name.ends_with(ending.end);
  });
}

}  // namespace

bool IsMetadataServer(std::string_view server) {
  for (const std::string_view host : {"//169.254.169.254:", "//metadata.google.internal:"})
    if (server.find(host) != std::string_view::npos) return true;
  return false;
}

bool IsIdempotent(std::string_view method) {
  constexpr std::array<std::string_view, 4> kSuch = {"GET", "HEAD", "PUT", "DELETE"};
  return std::find(kSuch.begin(), kSuch.end(), method) != kSuch.end();
}

std::string ContentCoding(const std::vector<std::string_view>& values, std::string_view url) {
  const std::string name = Lower(url.substr(0, url.find_first_of("?#")));
  std::string codings;
  bool is_first = true;
  for (std::string_view value : values) {
    while (!value.empty()) {
      const std::string lower = Lower(Trim(TakeUntil(value, ',')));
      const std::string_view coding = CodingNamed(lower);
      if (coding.empty() || coding == "identity") continue;
      const bool is_of_file = std::exchange(is_first, false) && EndsIn(name, coding);
      if (is_of_file) continue;
      if (!codings.empty()) codings += ", ";
      codings += IsToken(coding) ? coding : "an invalid name";
    }
  }
  return codings;
}

std::optional<HeaderLine> ParseHeaderLine(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !IsToken(line.substr(0, colon))) return std::nullopt;
  return HeaderLine{Lower(line.substr(0, colon)), std::string(Trim(line.substr(colon + 1)))};
}

bool CanBeSent(std::string_view name, std::string_view value) {
  return IsToken(name) &&
         std::none_of(value.begin(), value.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

std::optional<ContentRange> ParseContentRange(std::string_view value) {
  std::string_view left = Trim(value);
  if (Lower(TakeUntil(left, ' ')) != "bytes") return std::nullopt;
  left = Trim(left);
  const std::size_t slash = left.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view span = Trim(left.substr(0, slash)), size = Trim(left.substr(slash + 1));
  ContentRange range;
  if (size != "*" && !(range.size = ParseLength(size))) return std::nullopt;
  if (span == "*") return range.size ? std::optional(range) : std::nullopt;
  const std::size_t dash = std::min(span.find('-'), span.size());
  const std::optional<std::uint64_t> first = ParseLength(span.substr(0, dash));
  const std::optional<std::uint64_t> last = ParseLength(span.substr(std::min(dash + 1, span.size())));
  if (!first || !last || *first > *last || (range.size && *last >= *range.size)) return std::nullopt;
  range.span = ContentRange::Span{*first, *last};
  return range;
}

std::optional<std::chrono::milliseconds> ParseRetryAfter(std::string_view value,
                                                         std::int64_t unix_millis_now) {
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24);
  value = Trim(value);
  if (const std::optional<std::uint64_t> seconds = ParseLength(value))
    return std::min(kLongest, std::chrono::milliseconds(std::min<std::uint64_t>(*seconds, 100'000) * 1000));
  const std::optional<std::int64_t> date = ParseHttpDate(value);
  if (!date) return std::nullopt;
  return std::clamp(std::chrono::milliseconds(*date * 1000 - unix_millis_now), std::chrono::milliseconds(0),
                    kLongest);
}

std::optional<std::int64_t> ParseTimestamp(std::string_view text) {
  if (!text.ends_with('Z')) return std::nullopt;
  text.remove_suffix(1);
  std::string_view day = TakeUntil(text, 'T');
  const std::optional<int> year = SmallNumber(TakeUntil(day, '-')), month = SmallNumber(TakeUntil(day, '-'));
  return SecondsOf(year, month, SmallNumber(day), TimeOfDay(TakeUntil(text, '.')));
}

std::optional<std::int64_t> ParseHttpDate(std::string_view text) {
  text = Trim(text);
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos) {  // asctime: `Sun Nov  6 08:49:37 1994`
    TakeUntil(text, ' ');
    const std::optional<int> month = MonthOf(TakeUntil(text, ' '));
    text = Trim(text);
    const std::optional<int> day = SmallNumber(TakeUntil(text, ' '));
    const std::optional<int> seconds = TimeOfDay(TakeUntil(text, ' '));
    return SecondsOf(SmallNumber(text), month, day, seconds);
  }
  std::string_view left = Trim(text.substr(comma + 1));
  const char between = left.find('-') != std::string_view::npos ? '-' : ' ';  // RFC 850: `06-Nov-94`
  const std::optional<int> day = SmallNumber(TakeUntil(left, between));
  const std::optional<int> month = MonthOf(TakeUntil(left, between));
  const std::string_view year_digits = TakeUntil(left, ' ');
  std::optional<int> year = SmallNumber(year_digits);
  if (year && year_digits.size() == 2) *year += *year < 70 ? 2000 : 1900;
  const std::optional<int> seconds = TimeOfDay(TakeUntil(left, ' '));
  if (left != "GMT" && left != "UTC") return std::nullopt;
  return SecondsOf(year, month, day, seconds);
}

std::optional<std::uint64_t> ParseLength(std::string_view value) { return ParseNumber<std::uint64_t>(value); }

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), ToLower);
  return lower;
}

bool IsStrongTag(std::string_view etag) {
  return etag.size() >= 2 && etag.front() == '"' && etag.back() == '"' &&
         etag.substr(1, etag.size() - 2).find('"') == std::string_view::npos;
}

std::string MediaType(std::string_view content_type) {
  return Lower(Trim(content_type.substr(0, content_type.find(';'))));
}

}  // namespace pipeline
