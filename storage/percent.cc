#include "storage/percent.h"

namespace pipeline {

namespace {

std::optional<unsigned> HexDigit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

}  // namespace

std::string PercentEncode(std::string_view text, std::string_view kept) {
  constexpr std::string_view kDigits = "0123456789ABCDEF", kPlain = "-._~";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool alphanumeric = ('0' <= c && c <= '9') || ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z');
    if (alphanumeric || kPlain.find(c) != std::string_view::npos || kept.find(c) != std::string_view::npos)
      encoded.push_back(c);
    else
      encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return encoded;
}

std::optional<std::string> PercentDecode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded.push_back(text[i]);
      continue;
    }
    const auto high = i + 1 < text.size() ? HexDigit(text[i + 1]) : std::nullopt;
    const auto low = i + 2 < text.size() ? HexDigit(text[i + 2]) : std::nullopt;
    if (!high || !low) return std::nullopt;
    decoded.push_back(static_cast<char>(*high * 16 + *low));
    i += 2;
  }
  return decoded;
}

std::string FormText(std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
  std::string text;
  for (const auto& [name, value] : fields) {
    if (!text.empty()) text.push_back('&');
    text.append(PercentEncode(name)).push_back('=');
    text.append(PercentEncode(value));
  }
  return text;
}

}  // namespace pipeline
