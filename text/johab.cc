#include "text/johab.h"

#include <cstdint>
#include <string_view>

namespace pipeline {

namespace {

// By the five bits: the number of the jamo, from 1 on; 0: none; kNoJamo: the bits mean nothing.
constexpr std::uint8_t kNoJamo = 0xFF;
constexpr std::uint8_t kX = kNoJamo;
constexpr std::array<std::uint8_t, 32> kInitials = {kX, 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,
                                                    10, 11, 12, 13, 14, 15, 16, 17, 18, 19, kX,
                                                    kX, kX, kX, kX, kX, kX, kX, kX, kX, kX};
constexpr std::array<std::uint8_t, 32> kVowels = {kX, kX, 0,  1,  2,  3,  4,  5,  kX, kX, 6,
                                                  7,  8,  9,  10, 11, kX, kX, 12, 13, 14, 15,
                                                  16, 17, kX, kX, 18, 19, 20, 21, kX, kX};
constexpr std::array<std::uint8_t, 32> kFinals = {kX, 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,
                                                  10, 11, 12, 13, 14, 15, 16, kX, 17, 18, 19,
                                                  20, 21, 22, 23, 24, 25, 26, 27, kX, kX};
// Consonants that stand alone, U+3131 to U+314E.
constexpr std::u16string_view kInitialsAlone = u"ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ";
constexpr std::u16string_view kFinalsAlone = u"ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ";

}  // namespace

std::optional<char32_t> HangulOfJohab(unsigned char lead, unsigned char trail) {
  if (lead < 0x84 || lead > 0xD3) return std::nullopt;
  const unsigned bits = static_cast<unsigned>(lead) << 8 | trail;
  const std::uint8_t initial = kInitials[bits >> 10 & 31], vowel = kVowels[bits >> 5 & 31],
                     final = kFinals[bits & 31];
  if (initial == kNoJamo || vowel == kNoJamo || final == kNoJamo) return std::nullopt;
  if (initial > 0 && vowel > 0) return 0xAC00U + (initial - 1U) * 588 + (vowel - 1U) * 28 + final;
  if (initial > 0 && final == 0) return kInitialsAlone[initial - 1U];
  if (initial == 0 && vowel > 0 && final == 0) return 0x314FU + vowel - 1U;
  if (initial == 0 && vowel == 0 && final > 0) return kFinalsAlone[final - 1U];
  return std::nullopt;
}

std::optional<std::array<char, 2>> EucKrOfJohab(unsigned char lead, unsigned char trail) {
  const bool signs = lead >= 0xD9 && lead <= 0xDE, hanja = lead >= 0xE0 && lead <= 0xF9;
  const bool left = trail >= 0x31 && trail <= 0x7E, right = trail >= 0x91 && trail <= 0xFE;
  if ((!signs && !hanja) || (!left && !right)) return std::nullopt;
  // A lead byte has two rows of 94 characters: the first in the left bytes and the first of the right ones.
  const unsigned cell = left ? trail - 0x31U : trail - 0x43U;
  const unsigned row = (signs ? 2 * (lead - 0xD9U) + 0x21 : 2 * (lead - 0xE0U) + 0x4A) + cell / 94;
  return std::array{static_cast<char>(row | 0x80), static_cast<char>(cell % 94 + 0xA1)};
}

}  // namespace pipeline
