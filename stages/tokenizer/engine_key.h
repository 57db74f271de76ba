// The key of the stages that have two engines: our own code, and the SentencePiece library.
#pragma once

#include <string_view>

namespace pipeline {

inline constexpr std::string_view kEngineKey = "engine";

/// The value of the key for the library; the other value is "own".
inline constexpr std::string_view kLibraryEngine = "sentencepiece";

}  // namespace pipeline
