// The check of text/utf8.h on 32 bytes at a time.
#pragma once

#include <string_view>

namespace pipeline {

/// Whether this machine has the instructions; without them nothing else here may be called.
bool HasAvx2();

/// Whether `text` is well-formed UTF-8 without NUL.
bool IsCleanUtf8Avx2(std::string_view text);

}  // namespace pipeline
