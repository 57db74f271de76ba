// Valid text of a record, and the repair of other bytes. Rules: text/utf8.md.
#pragma once

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
