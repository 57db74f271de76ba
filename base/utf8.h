// Well-formed UTF-8 (Unicode 15, table 3-7), for names and messages. Text of records: text/utf8.h, which is
// faster and refuses NUL.
#pragma once

#include <cstddef>
#include <string_view>

namespace pipeline {

/// Bytes of the well-formed character at the front of `text`, which is not empty; 0: there is none.
std::size_t Utf8CharacterBytes(std::string_view text);

/// True if all of `text` is well-formed; NUL is a character like others.
bool IsUtf8(std::string_view text);

}  // namespace pipeline
