// Unicode normalisation forms over UTF-8, and properties of characters. The one place that knows ICU.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "text/character_class.h"
#include "text/code_point_set.h"

namespace pipeline {

/// The forms of stages/normalize.md.
enum class NormalForm : std::uint8_t { kNone, kNfc, kNfkc, kNmtNfkc };

/// What becomes of capital letters: nothing; A to Z become small; all do, by the rules of no language in
/// particular.
enum class LetterCase : std::uint8_t { kKeep, kLowerAscii, kLower };

/// What NFKC makes of compatibility jamo (ㅋ, ㅠ): conjoining ones, which join into syllables; or nothing.
enum class Jamo : std::uint8_t { kCompose, kKeep };

/// Appends `utf8` in the form. The two do not overlap; what is no UTF-8 becomes U+FFFD.
Status AppendNormalForm(NormalForm form, std::string_view utf8, std::string& out, Jamo jamo = Jamo::kCompose);

/// Makes what stands from `begin` on in `text` lower case; no word may begin before it.
Status MakeLowerCase(LetterCase letter_case, std::string& text, std::size_t begin);

/// The code points that stay as they are and do not join what stands before them: a text made of
/// them is in the form and case, whatever it is followed by, up to its last character. Takes milliseconds.
CodePointSet StableCodePoints(NormalForm form, LetterCase letter_case = LetterCase::kKeep,
                              Jamo jamo = Jamo::kCompose);

/// The classes of stages/filter.md. Takes tens of milliseconds.
CharacterClasses UnicodeClasses();

/// Of the ICU that this program runs with: "72.1".
std::string IcuVersion();

}  // namespace pipeline
