// Replaces each run of white space by one space. White space characters: stages/lines/normalize.md, 3. And
// finds lines of nothing else: formats/lines.md.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pipeline {

/// True if `c` is white space by this rule.
constexpr bool IsWhiteSpace(char32_t c) {
  return c <= 0x20 || (0x7f <= c && c <= 0xa0) || c == 0x1680 || (0x2000 <= c && c <= 0x200a) ||
         c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000 || c == 0xfeff;
}

/// End of the white space that begins at `at`; `at` if there is none.
std::size_t WhiteSpaceEnd(std::string_view text, std::size_t at);

/// Returns `text`, valid UTF-8, without white space at both ends.
std::string_view StripWhiteSpace(std::string_view text);

/// Replaces each run of white space in `text`, from offset `begin` on, by one U+0020. The text never grows.
void CollapseWhiteSpace(std::string& text, std::size_t begin);

/// End of the run of characters with Unicode's property White_Space that begins at `at`; `at` if there is
/// none. `text` may have any bytes; a character that it ends inside of is none of them.
std::size_t UnicodeSpaceEnd(std::string_view text, std::size_t at);
/// Whether `line` has such characters alone, or nothing.
inline bool IsBlankLine(std::string_view line) { return UnicodeSpaceEnd(line, 0) == line.size(); }

}  // namespace pipeline
