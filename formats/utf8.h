// What text a record may hold, and how other bytes become such text. Rules: formats/utf8.md.
#pragma once

#include <cstddef>
#include <cstdint>
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

/// Replacements made, by reason.
struct Utf8Damage {
  std::uint64_t invalid_utf8 = 0;
  std::uint64_t nul = 0;
  bool operator==(const Utf8Damage&) const = default;
};

/// Appends `text` to `out` with U+FFFD for each maximal subpart that is not clean.
Utf8Damage RepairUtf8(std::string_view text, std::string& out);

}  // namespace pipeline
