// The check of text/utf8.h, 32 bytes at a time.
#pragma once

#include <string_view>

namespace pipeline {

/// True if this machine has AVX2. Otherwise no other function here may be called.
bool HasAvx2();

/// True if `text` is well-formed UTF-8 without NUL.
bool IsCleanUtf8Avx2(std::string_view text);

}  // namespace pipeline
