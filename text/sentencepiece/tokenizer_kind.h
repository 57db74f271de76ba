// The two kinds of tokenizers.
#pragma once

#include <cstdint>

namespace pipeline {

enum class TokenizerKind : std::uint8_t { kSentencePiece, kVocabulary };

}  // namespace pipeline
