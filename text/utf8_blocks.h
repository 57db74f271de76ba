// The check of text/utf8.h, a block of bytes at a time: 32 by AVX2, 16 by NEON.
#pragma once

#include <string_view>

namespace pipeline {

/// True if this machine has the instructions. Otherwise no other function here may be called.
bool HasUtf8Blocks();

/// True if `text` is well-formed UTF-8 without NUL.
bool IsCleanUtf8Blocks(std::string_view text);

}  // namespace pipeline
