#include "base/checksum.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/base64.h"
#include "base/str.h"

namespace pipeline {

namespace {

struct Known {
  Checksum::Kind kind;
  std::string_view name;
  std::size_t bytes;
};
constexpr std::array<Known, 3> kKnown = {{{Checksum::Kind::kSha256, "sha256", 32},
                                          {Checksum::Kind::kMd5, "md5", 16},
                                          {Checksum::Kind::kCrc32c, "crc32c", 4}}};

/// Absent: `text` is neither the digits nor the base64 of so many bytes.
std::optional<std::string> HexOf(std::string_view text, std::size_t bytes) {
  std::string hex;
  for (const char c : text) hex += c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  if (hex.size() == 2 * bytes && hex.find_first_not_of("0123456789abcdef") == std::string::npos) return hex;
  const std::optional<std::string> decoded = FromBase64(text);
  return decoded && decoded->size() == bytes ? std::optional(ToHex(*decoded)) : std::nullopt;
}

}  // namespace

Result<Checksum> ParseChecksum(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  for (const Known& known : kKnown) {
    if (text.substr(0, colon) != known.name) continue;
    if (std::optional<std::string> hex = HexOf(text.substr(std::min(colon + 1, text.size())), known.bytes))
      return Checksum{known.kind, std::move(*hex)};
    return Status(Code::kInvalidArgument, StrCat("'", text, "' is no checksum: behind ", known.name,
                                                 ": stand ", 2 * known.bytes, " hexadecimal digits"));
  }
  return Status(Code::kInvalidArgument,
                StrCat("'", text, "' is no checksum; write sha256:DIGITS, ", "md5:DIGITS or crc32c:DIGITS"));
}

std::string ToString(const Checksum& checksum) {
  for (const Known& known : kKnown)
    if (known.kind == checksum.kind) return StrCat(known.name, ":", checksum.hex);
  return {};
}

}  // namespace pipeline
