// Normalisation forms of Unicode for UTF-8, and properties of characters. Only unicode.cc, encoding.cc and
// regular_expression.cc use ICU.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "text/character_class.h"
#include "text/code_point_set.h"

namespace pipeline {

/// The forms of stages/lines/normalize.md.
enum class NormalForm : std::uint8_t { kNone, kNfc, kNfkc, kNmtNfkc };

/// Change of capital letters: none; A to Z become small; all become small, by language-independent rules.
enum class LetterCase : std::uint8_t { kKeep, kLowerAscii, kLower };

/// Treatment of compatibility jamo (ㅋ, ㅠ) by NFKC: they become conjoining jamo and join into syllables, or
/// they stay.
enum class Jamo : std::uint8_t { kCompose, kKeep };

/// Appends `utf8` in the form. `utf8` and `out` must not overlap. Invalid UTF-8 becomes U+FFFD.
Status AppendNormalForm(NormalForm form, std::string_view utf8, std::string& out, Jamo jamo = Jamo::kCompose);

/// Makes `text` lower case from `begin` on. No word may span `begin`, because a capital sigma depends on
/// its neighbours.
Status MakeLowerCase(LetterCase letter_case, std::string& text, std::size_t begin);

/// Code points that never change and never join the text before them. A text of these alone already has the
/// form and case; text that follows can only change its last character. Takes milliseconds.
CodePointSet StableCodePoints(NormalForm form, LetterCase letter_case = LetterCase::kKeep,
                              Jamo jamo = Jamo::kCompose);

/// Creates the classes of stages/lines/filter.md. Takes tens of milliseconds.
CharacterClasses UnicodeClasses();

/// Version of the ICU library at run time: "72.1".
std::string IcuVersion();

}  // namespace pipeline
