// Characters of Johab, the Korean encoding of KS X 1001, annex 3: a syllable of Hangul is three numbers of
// five bits. Rules: text/encodings.md.
#pragma once

#include <array>
#include <optional>

namespace pipeline {

/// A syllable or a single jamo. Absent: the pair is none, or no character at all.
std::optional<char32_t> HangulOfJohab(unsigned char lead, unsigned char trail);

/// The same hanja or sign in EUC-KR. Absent: the pair is none.
std::optional<std::array<char, 2>> EucKrOfJohab(unsigned char lead, unsigned char trail);

}  // namespace pipeline
