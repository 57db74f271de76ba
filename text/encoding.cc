#include "text/encoding.h"

#include <unicode/ucnv.h>
#include <unicode/utf16.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/str.h"
#include "text/unicode.h"
#include "text/utf8.h"

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

/// A syllable or a single jamo. Absent: the pair is none, or no character at all.
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

/// The same hanja or sign in EUC-KR. Absent: the pair is none.
std::optional<std::array<char, 2>> EucKrOfJohab(unsigned char lead, unsigned char trail) {
  const bool signs = lead >= 0xD9 && lead <= 0xDE, hanja = lead >= 0xE0 && lead <= 0xF9;
  const bool left = trail >= 0x31 && trail <= 0x7E, right = trail >= 0x91 && trail <= 0xFE;
  if ((!signs && !hanja) || (!left && !right)) return std::nullopt;
  // A lead byte has two rows of 94 characters: the first in the left bytes and the first of the right ones.
  const unsigned cell = left ? trail - 0x31U : trail - 0x43U;
  const unsigned row = (signs ? 2 * (lead - 0xD9U) + 0x21 : 2 * (lead - 0xE0U) + 0x4A) + cell / 94;
  return std::array{static_cast<char>(row | 0x80), static_cast<char>(cell % 94 + 0xA1)};
}

struct Named {
  std::string_view name;
  const char* converter;  // its name in ICU
};

const Named& NamesOf(Encoding encoding) {
  static constexpr std::array<Named, static_cast<std::size_t>(Encoding::kUtf7) + 1> kNames = {
      {{"utf-8", "UTF-8"},
       {"shift_jis", "ibm-943_P15A-2003"},
       {"euc-jp", "euc-jp-2007"},
       {"iso-2022-jp", "ISO_2022,locale=ja,version=3"},
       {"cp949", "windows-949-2000"},
       {"johab", "windows-949-2000"},
       {"iso-2022-kr", "ISO-2022-KR"},
       {"utf-16le", "UTF-16LE"},
       {"utf-16be", "UTF-16BE"},
       {"gb18030 (gbk)", "GB18030"},
       {"big5", "Big5-HKSCS"},
       {"koi8-r", "KOI8-U"},
       {"windows-1251", "windows-1251"},
       {"tis-620", "windows-874"},
       {"windows-1252 or one like it", "windows-1252"},
       {"hz-gb-2312", "HZ"},
       {"iso-2022-cn", "ISO-2022-CN-EXT"},
       {"utf-7", "UTF-7"}}};
  return kNames[static_cast<std::size_t>(encoding)];
}

/// IBM's tables permute three control characters.
UChar32 ControlOfIbm943(UChar32 c) { return c == 0x1C ? 0x1A : c == 0x7F ? 0x1C : c == 0x1A ? 0x7F : c; }

}  // namespace

struct EncodingDecoder::State {
  explicit State(Encoding of) : encoding(of) {}
  ~State() { ucnv_close(converter); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void Append(const UChar* begin, const UChar* end, std::string& out) {
    std::array<char, 4> bytes{};
    for (; begin != end; ++begin) {
      UChar32 c = *begin;
      if (U16_IS_LEAD(c)) {
        high = *begin;
        continue;
      }
      if (U16_IS_TRAIL(c)) {  // ICU gives surrogate pairs
        c = U16_GET_SUPPLEMENTARY(high, c);
      } else if (encoding == Encoding::kShiftJis) {
        c = ControlOfIbm943(c);
      }
      out += EncodeCharacter(static_cast<char32_t>(c), bytes);
    }
  }

  const Encoding encoding;
  UConverter* converter = nullptr;
  UChar high = 0;          // first half of a surrogate pair; 0: none
  unsigned char lead = 0;  // first byte of a pair in Johab; 0: none
};

std::string_view EncodingName(Encoding encoding) { return NamesOf(encoding).name; }

std::string_view EncodingOfWord(std::string_view word) {
  // Without signs and in small letters, as programs and pages write them.
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 25> kWords = {
      {{"utf8", "utf-8"},  {"sjis", "shift_jis"},        {"shiftjis", "shift_jis"}, {"cp932", "cp932"},
       {"ms932", "cp932"}, {"windows31j", "cp932"},      {"mskanji", "cp932"},      {"eucjp", "euc-jp"},
       {"ujis", "euc-jp"}, {"iso2022jp", "iso-2022-jp"}, {"jis", "iso-2022-jp"},    {"euckr", "cp949"},
       {"cp949", "cp949"}, {"ms949", "cp949"},           {"windows949", "cp949"},   {"949", "cp949"},
       {"uhc", "cp949"},   {"ksc5601", "cp949"},         {"ksc56011987", "cp949"},  {"ksx1001", "cp949"},
       {"johab", "johab"}, {"iso2022kr", "iso-2022-kr"}, {"utf16le", "utf-16le"},   {"utf16be", "utf-16be"},
       {"auto", "auto"}}};
  std::string plain;
  for (const char letter : word)
    if (letter >= 'A' && letter <= 'Z')
      plain.push_back(static_cast<char>(letter - 'A' + 'a'));
    else if (letter != '-' && letter != '_')
      plain.push_back(letter);
  for (const auto& [other, name] : kWords)
    if (other == plain) return name;
  return {};
}

std::optional<Encoding> EncodingByName(std::string_view name) {
  for (const Encoding encoding : kEncodings)
    if (EncodingName(encoding) == name) return encoding;
  if (name == "cp932") return Encoding::kShiftJis;
  return std::nullopt;
}

EncodingDecoder::EncodingDecoder(std::unique_ptr<State> state) : state_(std::move(state)) {}
EncodingDecoder::EncodingDecoder(EncodingDecoder&&) noexcept = default;
EncodingDecoder& EncodingDecoder::operator=(EncodingDecoder&&) noexcept = default;
EncodingDecoder::~EncodingDecoder() = default;

Result<EncodingDecoder> EncodingDecoder::New(Encoding encoding) {
  auto state = std::make_unique<State>(encoding);
  UErrorCode error = U_ZERO_ERROR;
  state->converter = ucnv_open(NamesOf(encoding).converter, &error);
  if (U_SUCCESS(error))
    ucnv_setToUCallBack(state->converter, UCNV_TO_U_CALLBACK_STOP, nullptr, nullptr, nullptr, &error);
  if (U_FAILURE(error))
    return Status(Code::kUnimplemented,
                  StrCat("ICU ", IcuVersion(), " has no table of ", EncodingName(encoding), " (",
                         u_errorName(error), "); install all of its data"));
  return EncodingDecoder(std::move(state));
}

Status EncodingDecoder::Decode(std::string_view bytes, bool last, std::string& utf8) {
  return state_->encoding == Encoding::kJohab ? DecodeJohab(bytes, last, utf8)
                                              : DecodeByTable(bytes, last, utf8);
}

Status EncodingDecoder::DecodeJohab(std::string_view bytes, bool last, std::string& utf8) {
  std::array<char, 4> character;
  for (const char byte : bytes) {
    const auto trail = static_cast<unsigned char>(byte);
    const unsigned char lead = std::exchange(state_->lead, 0);
    if (lead != 0) {
      if (const std::optional<char32_t> hangul = HangulOfJohab(lead, trail)) {
        utf8 += EncodeCharacter(*hangul, character);
        continue;
      }
      if (const std::optional<std::array<char, 2>> pair = EucKrOfJohab(lead, trail)) {
        RETURN_IF_ERROR(DecodeByTable(std::string_view(pair->data(), pair->size()), false, utf8));
        continue;
      }
      utf8 += kIllegalSequence;
    }
    if (trail < 0x80)
      utf8 += byte;
    else if (lead == 0)
      state_->lead = trail;
  }
  if (last && state_->lead != 0) utf8 += kIllegalSequence;
  return {};
}

Status EncodingDecoder::DecodeByTable(std::string_view bytes, bool last, std::string& utf8) {
  constexpr std::size_t kUnits = 4096;
  std::array<UChar, kUnits> units;
  const char* from = bytes.data();
  const char* const end = from + bytes.size();
  while (true) {
    UErrorCode error = U_ZERO_ERROR;
    UChar* to = units.data();
    ucnv_toUnicode(state_->converter, &to, units.data() + kUnits, &from, end, nullptr, last ? 1 : 0, &error);
    state_->Append(units.data(), to, utf8);
    if (error == U_BUFFER_OVERFLOW_ERROR) continue;
    if (U_SUCCESS(error)) return {};
    if (error != U_ILLEGAL_CHAR_FOUND && error != U_INVALID_CHAR_FOUND && error != U_TRUNCATED_CHAR_FOUND &&
        error != U_ILLEGAL_ESCAPE_SEQUENCE && error != U_UNSUPPORTED_ESCAPE_SEQUENCE)
      return Status(Code::kInternal, StrCat("ICU ", IcuVersion(), ": ", u_errorName(error)));
    utf8 += kIllegalSequence;
    if (error == U_TRUNCATED_CHAR_FOUND) return {};
  }
}

}  // namespace pipeline
