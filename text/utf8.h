// What text a record may hold, and how other bytes become such text. Rules: text/utf8.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pipeline {

/// How many bytes at the front of `text` are clean: well-formed UTF-8 without NUL. Ends between
/// characters; text.size() where all of it is clean.
std::size_t CleanUtf8Prefix(std::string_view text);

/// The same as a question, and several times faster for long text.
bool IsCleanUtf8(std::string_view text);

/// True for the second and later bytes of a character.
constexpr bool IsUtf8Tail(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

/// How many characters clean `text` has.
std::size_t CountCharacters(std::string_view text);

/// Writes the characters of clean `text` to `out` until one of them ends, takes what was read off `text` and
/// says how many it wrote. Text that is not clean gives characters too, U+10FFFF at most; which is not said.
std::size_t DecodeUtf8(std::string_view& text, std::span<char32_t> out);

/// Replacements made, by reason.
struct Utf8Damage {
  std::uint64_t invalid_utf8 = 0;
  std::uint64_t nul = 0;
  bool operator==(const Utf8Damage&) const = default;
};

/// `text` for messages: at most kPrintableBytes of it, `?` for what is invalid or a control character.
inline constexpr std::size_t kPrintableBytes = 200;
std::string Printable(std::string_view text);

/// Appends `text` to `out` with U+FFFD for each maximal subpart that is not clean.
Utf8Damage RepairUtf8(std::string_view text, std::string& out);

}  // namespace pipeline
