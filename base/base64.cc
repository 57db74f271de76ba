#include "base/base64.h"

#include <array>
#include <cstdint>

#include "base/utf8.h"

namespace pipeline {

namespace {

constexpr std::string_view kBase64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> MakeValues() {
  std::array<std::int8_t, 256> values{};
  for (std::int8_t& value : values) value = -1;
  for (std::size_t i = 0; i < kBase64Digits.size(); ++i)
    values[static_cast<unsigned char>(kBase64Digits[i])] = static_cast<std::int8_t>(i);
  return values;
}
constexpr std::array<std::int8_t, 256> kValues = MakeValues();

}  // namespace

std::string ToBase64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, 3);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (i < part.size() ? static_cast<unsigned char>(part[i]) : 0u);
    for (std::size_t i = 0; i < 4; ++i)
      text.push_back(i <= part.size() ? kBase64Digits[group >> (18 - 6 * i) & 63] : '=');
    bytes.remove_prefix(part.size());
  }
  return text;
}

std::optional<std::string> FromBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  int bits = 0;
  for (const char digit : text.substr(0, text.size() - padding)) {
    const std::int8_t value = kValues[static_cast<unsigned char>(digit)];
    if (value < 0) return std::nullopt;
    group = (group << 6 | static_cast<std::uint32_t>(value)) & 0xffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<char>(group >> bits & 0xff));
  }
  const bool spare_bits_set = (group & ((1u << bits) - 1)) != 0;
  if (spare_bits_set) return std::nullopt;
  return bytes;
}

std::string ToHex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return hex;
}

Json TextOrBase64(std::string_view bytes) {
  if (IsUtf8(bytes)) return bytes;
  Json json;
  json["base64"] = ToBase64(bytes);
  return json;
}

}  // namespace pipeline
