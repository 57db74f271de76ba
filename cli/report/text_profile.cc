#include "cli/report/text_profile.h"

#include <algorithm>
#include <bit>

#include "base/utf8.h"

namespace pipeline {

namespace {

struct Range {
  char32_t first, last;
  ProfileClass is;
};

using enum ProfileClass;

/// Sorted by first character. A few signs inside a block of letters count as letters.
constexpr std::array kRanges = {
    Range{U'\t', U'\r', kSpace},      Range{U' ', U' ', kSpace},        Range{U'!', U'/', kSymbol},
    Range{U'0', U'9', kDigit},        Range{U':', U'@', kSymbol},       Range{U'A', U'Z', kLatin},
    Range{U'[', U'`', kSymbol},       Range{U'a', U'z', kLatin},        Range{U'{', U'~', kSymbol},
    Range{0x85, 0x85, kSpace},        Range{0xA0, 0xA0, kSpace},        Range{0xA1, 0xBF, kSymbol},
    Range{0xC0, 0xD6, kLatin},        Range{0xD7, 0xD7, kSymbol},       Range{0xD8, 0xF6, kLatin},
    Range{0xF7, 0xF7, kSymbol},       Range{0xF8, 0x24F, kLatin},       Range{0x1100, 0x11FF, kHangul},
    Range{0x1E00, 0x1EFF, kLatin},    Range{0x2000, 0x200A, kSpace},    Range{0x2010, 0x2027, kSymbol},
    Range{0x2028, 0x2029, kSpace},    Range{0x202F, 0x202F, kSpace},    Range{0x2030, 0x205E, kSymbol},
    Range{0x205F, 0x205F, kSpace},    Range{0x2070, 0x2BFF, kSymbol},   Range{0x2E80, 0x2FDF, kKanji},
    Range{0x3000, 0x3000, kSpace},    Range{0x3001, 0x3004, kSymbol},   Range{0x3005, 0x3007, kKanji},
    Range{0x3008, 0x3020, kSymbol},   Range{0x3021, 0x3029, kKanji},    Range{0x3030, 0x303F, kSymbol},
    Range{0x3041, 0x309F, kHiragana}, Range{0x30A0, 0x30FF, kKatakana}, Range{0x3130, 0x318F, kHangul},
    Range{0x31F0, 0x31FF, kKatakana}, Range{0x3200, 0x33FF, kSymbol},   Range{0x3400, 0x4DBF, kKanji},
    Range{0x4E00, 0x9FFF, kKanji},    Range{0xA960, 0xA97F, kHangul},   Range{0xAC00, 0xD7FF, kHangul},
    Range{0xF900, 0xFAFF, kKanji},    Range{0xFE30, 0xFE6F, kSymbol},   Range{0xFF01, 0xFF0F, kSymbol},
    Range{0xFF10, 0xFF19, kDigit},    Range{0xFF1A, 0xFF20, kSymbol},   Range{0xFF21, 0xFF3A, kLatin},
    Range{0xFF3B, 0xFF40, kSymbol},   Range{0xFF41, 0xFF5A, kLatin},    Range{0xFF5B, 0xFF65, kSymbol},
    Range{0xFF66, 0xFF9F, kKatakana}, Range{0xFFA0, 0xFFDC, kHangul},   Range{0xFFE0, 0xFFEE, kSymbol},
    Range{0x1F000, 0x1FAFF, kSymbol}, Range{0x20000, 0x323AF, kKanji},
};

}  // namespace

ProfileClass ClassOf(char32_t code_point) {
  const auto after = std::upper_bound(kRanges.begin(), kRanges.end(), code_point,
                                      [](char32_t at, const Range& range) { return at < range.first; });
  if (after == kRanges.begin()) return kOther;
  const Range& range = *(after - 1);
  return code_point <= range.last ? range.is : kOther;
}

std::size_t LengthClass(std::uint64_t characters) {
  if (characters < 4) return characters;
  const auto power = static_cast<std::size_t>(std::bit_width(characters)) - 1;  // at least 2
  const bool upper_half = (characters >> (power - 1) & 1) != 0;
  return 2 * power + (upper_half ? 1 : 0);
}

std::uint64_t LengthFloor(std::size_t length_class) {
  if (length_class < 4) return length_class;
  const std::size_t power = length_class / 2;
  const std::uint64_t floor = std::uint64_t{1} << power;
  return length_class % 2 == 0 ? floor : floor + floor / 2;
}

void TextProfile::Add(std::string_view text, std::uint64_t weight) {
  std::uint64_t length = 0;
  while (!text.empty()) {
    characters[static_cast<std::size_t>(ClassOf(TakeUtf8Character(text)))] += weight;
    ++length;
  }
  const std::size_t length_class = LengthClass(length);
  if (lengths.size() <= length_class) lengths.resize(length_class + 1);
  lengths[length_class] += weight;
  ++sampled;
  records += weight;
}

}  // namespace pipeline
