// Valid text of a record, and the repair of other bytes. Rules: text/utf8.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pipeline {

/// Number of bytes at the front of `text` that are clean: well-formed UTF-8 without NUL. Ends between
/// characters; text.size() if all bytes are clean.
std::size_t CleanUtf8Prefix(std::string_view text);

/// True if all of `text` is clean. Several times faster than CleanUtf8Prefix for long text.
bool IsCleanUtf8(std::string_view text);

/// True for the second and later bytes of a character.
constexpr bool IsUtf8Tail(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

/// Number of characters in `text`, which must be clean.
std::size_t CountCharacters(std::string_view text);

/// Decodes characters of clean `text` until `out` is full or `text` ends. Removes the bytes it read from
/// the front of `text` and returns the number of characters. Text that is not clean gives unspecified
/// characters up to U+10FFFF.
std::size_t DecodeUtf8(std::string_view& text, std::span<char32_t> out);

struct Utf8Character {
  char32_t code = 0;
  std::uint32_t bytes = 0;
};
/// Decodes the character at the front of `text`, which is clean and not empty.
inline Utf8Character CharacterAt(const char* text) {
  const auto byte = [text](int at) { return static_cast<char32_t>(static_cast<unsigned char>(text[at])); };
  const char32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xE0) return {(first & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (first < 0xF0) return {(first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  return {(first & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F), 4};
}

/// Returns the UTF-8 of a character, in `bytes`. A surrogate gets three bytes, too, which are no clean UTF-8.
std::string_view EncodeCharacter(char32_t code, std::array<char, 4>& bytes);

/// Replacements made, by reason.
struct Utf8Damage {
  std::uint64_t invalid_utf8 = 0;
  std::uint64_t nul = 0;
  bool operator==(const Utf8Damage&) const = default;
};

/// Returns at most kPrintableBytes of `text` for a message, with `?` for invalid bytes and control
/// characters.
inline constexpr std::size_t kPrintableBytes = 200;
std::string Printable(std::string_view text);

/// Appends `text` to `out` with U+FFFD for each maximal subpart that is not clean.
Utf8Damage RepairUtf8(std::string_view text, std::string& out);

}  // namespace pipeline
