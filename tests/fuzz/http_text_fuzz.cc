// What is read out of a server's text keeps what the header promises, whatever the text is; what is shown of
// an address has none of its secrets.
#include <cstddef>
#include <cstdint>
#include <string>

#include "storage/percent.h"
#include "storage/remote/http/http_text.h"
#include "storage/uri.h"
#include "tests/fuzz/require.h"

namespace {

using namespace pipeline;

bool IsLowerToken(std::string_view name) {
  return !name.empty() && name.find_first_of(" \t\r\n:ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string_view::npos;
}

void CheckValue(std::string_view value) {
  if (const auto range = ParseContentRange(value)) {
    Require(range->span || range->size);
    if (range->span) Require(range->span->first <= range->span->last);
    if (range->span && range->size) Require(range->span->last < *range->size);
  }
  constexpr std::int64_t kNow = 1'700'000'000'000;
  if (const auto pause = ParseRetryAfter(value, kNow))
    Require(pause->count() >= 0 && *pause <= std::chrono::hours(24));
  (void)ParseTimestamp(value);
  if (const auto date = ParseHttpDate(value))
    Require(*date >= 0 && *date < 253'402'300'801);  // the year 10000
  if (const auto length = ParseLength(value))
    Require(value.find_first_not_of("0123456789") == std::string_view::npos);
  if (IsStrongTag(value)) Require(value.size() >= 2 && value.find('"', 1) == value.size() - 1);
  Require(MediaType(value).size() <= value.size());
  const std::string coding = ContentCoding({value}, "https://host/f.gz");
  Require(coding.find_first_of("\r\n\t:/ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string::npos);
  Require(coding.empty() || coding.back() != ' ');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckValue(text);
  if (const auto line = ParseHeaderLine(text)) {
    Require(IsLowerToken(line->name) && line->value.size() < size);
    if (CanBeSent(line->name, line->value)) {
      const auto again = ParseHeaderLine(line->name + ": " + line->value);
      Require(again && again->name == line->name && again->value == line->value);
    }
    CheckValue(line->value);
  }
  const std::string encoded = PercentEncode(text);
  Require(encoded.find_first_of("/?#@: \n") == std::string::npos && encoded.size() <= 3 * size);
  // Behind the first `?` or `#`, and before the last `@` of the authority, stands what must not be seen.
  const std::string shown = ShownUrl("https://user:hush@" + encoded + "/p?" + std::string(text));
  Require(shown.find("hush@") == std::string::npos && shown.find('?') == std::string::npos);
  for (const char c : ShownUrl(text)) Require(static_cast<unsigned char>(c) >= ' ');
  return 0;
}
