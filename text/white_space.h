// Runs of white space become one space. Which characters that are: stages/normalize.md, 2.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pipeline {

/// Whether the white-space rule takes the code point `c`.
constexpr bool IsWhiteSpace(char32_t c) {
  return c <= 0x20 || (0x7f <= c && c <= 0xa0) || c == 0x1680 || (0x2000 <= c && c <= 0x200a) ||
         c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000 || c == 0xfeff;
}

/// Where the white space that begins at `at` ends; `at` where none does.
std::size_t WhiteSpaceEnd(std::string_view text, std::size_t at);

/// `text`, valid UTF-8, without white space at its ends.
std::string_view StripWhiteSpace(std::string_view text);

/// Makes each run of white space in `text`, from offset `begin` on, one U+0020. Never longer.
void CollapseWhiteSpace(std::string& text, std::size_t begin);

}  // namespace pipeline
