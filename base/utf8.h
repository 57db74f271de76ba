// Well-formed UTF-8 (Unicode 15, table 3-7), for names and messages. Text of records: text/utf8.h, which is
// faster and refuses NUL.
#pragma once

#include <cstddef>
#include <string_view>

namespace pipeline {

/// Bytes of the well-formed character at the front of `text`, which is not empty; 0: there is none.
std::size_t Utf8CharacterBytes(std::string_view text);

/// The beginning of `text`, at most `most` bytes, cut between characters.
std::string_view Utf8Front(std::string_view text, std::size_t most);

/// Removes one character from the front of `text`, which is not empty; U+FFFD for a byte that begins none.
char32_t TakeUtf8Character(std::string_view& text);

/// True if all of `text` is well-formed; NUL is a character like others.
bool IsUtf8(std::string_view text);

}  // namespace pipeline
