#include "storage/percent.h"

#include "base/words.h"

namespace pipeline {

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
    const std::string_view digits = text.substr(i + 1, 2);
    const auto byte = digits.size() == 2 ? ParseNumber<unsigned>(digits, 16) : std::nullopt;
    if (!byte) return std::nullopt;
    decoded.push_back(static_cast<char>(*byte));
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
