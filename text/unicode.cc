#include "text/unicode.h"

#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/uscript.h>
#include <unicode/utf16.h>
#include <unicode/uversion.h>

#include <algorithm>
#include <climits>
#include <iterator>

#include "base/result.h"
#include "base/str.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace pipeline {

namespace {

/// A rule that nmt_nfkc applies before NFKC.
struct NmtRule {
  char32_t first, last;
  std::string_view becomes;
};

constexpr NmtRule kNmtRules[] = {
    // ascending
    {0x0001, 0x0008, ""},  {0x0009, 0x000a, " "}, {0x000b, 0x000b, ""},       {0x000c, 0x000d, " "},
    {0x000e, 0x001f, ""},  {0x007f, 0x007f, ""},  {0x008f, 0x008f, ""},       {0x009f, 0x009f, ""},
    {0x1680, 0x1680, " "}, {0x200b, 0x200c, " "}, {0x200e, 0x200f, " "},      {0x2028, 0x2029, " "},
    {0x2581, 0x2581, " "}, {0xfeff, 0xfeff, " "}, {0xff5e, 0xff5e, "\uff5e"}, {0xfffd, 0xfffd, " "},
};

constexpr CodePointSet MakeNmtSet() {
  CodePointSet set;
  for (const NmtRule& rule : kNmtRules)
    for (char32_t c = rule.first; c <= rule.last; ++c) set.Add(c);
  return set;
}
constexpr CodePointSet kNmtSet = MakeNmtSet();

/// The replacement of a character in kNmtSet.
std::string_view NmtReplacement(char32_t c) {
  return std::find_if(std::begin(kNmtRules), std::end(kNmtRules),
                      [c](const NmtRule& rule) { return c <= rule.last; })
      ->becomes;
}

class AppendSink final : public icu::ByteSink {
 public:
  explicit AppendSink(std::string& out) : out_(out) {}
  void Append(const char* bytes, std::int32_t size) override {
    out_.append(bytes, static_cast<std::size_t>(size));
  }

 private:
  std::string& out_;
};

Status IcuError(UErrorCode error) {
  return Status(Code::kInternal, StrCat("ICU ", IcuVersion(), ": ", u_errorName(error)));
}

Status AppendByIcu(NormalForm form, std::string_view utf8, std::string& out) {
  if (utf8.empty()) return {};
  if (utf8.size() > INT_MAX) return Status(Code::kResourceExhausted, "a record of 2 GiB or more");
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* normalizer = form == NormalForm::kNfc ? icu::Normalizer2::getNFCInstance(error)
                                                                : icu::Normalizer2::getNFKCInstance(error);
  if (U_FAILURE(error)) return IcuError(error);
  AppendSink sink(out);
  normalizer->normalizeUTF8(0, icu::StringPiece(utf8.data(), static_cast<std::int32_t>(utf8.size())), sink,
                            nullptr, error);
  return U_FAILURE(error) ? IcuError(error) : Status();
}

Status AppendNmtNfkc(std::string_view utf8, std::string& out) {
  std::size_t begin = 0;
  for (std::size_t at = 0; at < utf8.size(); at += Utf8Size(utf8[at])) {
    const std::size_t size = kNmtSet.MatchAt(utf8, at);
    if (size == 0) continue;
    RETURN_IF_ERROR(AppendByIcu(NormalForm::kNfkc, utf8.substr(begin, at - begin), out));
    out.append(NmtReplacement(CharacterAt(utf8.data() + at).code));
    begin = at + size;
  }
  return AppendByIcu(NormalForm::kNfkc, utf8.substr(begin), out);
}

constexpr char32_t kFirstJamo = 0x3131, kLastJamo = 0x318e;          // Hangul Compatibility Jamo
constexpr char32_t kFirstHalfJamo = 0xffa0, kLastHalfJamo = 0xffdc;  // half-width forms, and gaps

constexpr CodePointSet MakeJamoSet() {
  CodePointSet set;
  for (char32_t c = kFirstJamo; c <= kLastJamo; ++c) set.Add(c);
  for (char32_t c = kFirstHalfJamo; c <= kLastHalfJamo; ++c) set.Add(c);
  return set;
}
constexpr CodePointSet kJamoSet = MakeJamoSet();

/// Appends the jamo; a half-width jamo becomes full-width, which is the first step of its decomposition.
Status AppendJamo(std::string_view utf8, std::string& out) {
  const auto bits = [utf8](std::size_t i) { return UChar32{static_cast<unsigned char>(utf8[i])} & 0x3f; };
  const UChar32 c = (bits(0) & 0xf) << 12 | bits(1) << 6 | bits(2);
  if (static_cast<char32_t>(c) < kFirstHalfJamo) {
    out.append(utf8);
    return {};
  }
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* const nfkc = icu::Normalizer2::getNFKCInstance(error);
  if (U_FAILURE(error)) return IcuError(error);
  icu::UnicodeString full;
  if (nfkc->getRawDecomposition(c, full))
    full.toUTF8String(out);
  else  // an unassigned gap
    out.append(utf8);
  return {};
}

/// Appends `utf8`, which has no jamo, in the form.
Status AppendForm(NormalForm form, std::string_view utf8, std::string& out) {
  switch (form) {
    case NormalForm::kNone: out.append(utf8); return {};
    case NormalForm::kNfc:
    case NormalForm::kNfkc: return AppendByIcu(form, utf8, out);
    case NormalForm::kNmtNfkc: return AppendNmtNfkc(utf8, out);
  }
  return {};
}

/// Returns the class of a letter by its script; a letter of several scripts counts by its script extensions.
CharacterClass LetterClass(UChar32 c, bool is_letter) {
  UErrorCode error = U_ZERO_ERROR;
  switch (uscript_getScript(c, &error)) {
    case USCRIPT_HIRAGANA: return CharacterClass::kHiragana;
    case USCRIPT_KATAKANA: return CharacterClass::kKatakana;
    case USCRIPT_HAN: return CharacterClass::kKanji;
    case USCRIPT_HANGUL: return CharacterClass::kHangul;
    case USCRIPT_LATIN: return CharacterClass::kLatin;
    case USCRIPT_COMMON:
      if (is_letter && uscript_hasScript(c, USCRIPT_KATAKANA)) return CharacterClass::kKatakana;
      if (is_letter && uscript_hasScript(c, USCRIPT_HAN)) return CharacterClass::kKanji;
      return CharacterClass::kOther;
    default: return CharacterClass::kOther;
  }
}

CharacterClass ClassOf(char32_t code_point) {
  const auto c = static_cast<UChar32>(code_point);
  if (IsWhiteSpace(code_point)) return CharacterClass::kNone;
  const std::uint32_t category = U_GET_GC_MASK(c);
  if ((category & (U_GC_CN_MASK | U_GC_CO_MASK)) != 0) return CharacterClass::kOther;  // most of Unicode
  if ((category & U_GC_CF_MASK) != 0) return CharacterClass::kNone;
  if ((category & U_GC_P_MASK) != 0) return CharacterClass::kPunctuation;
  if ((category & U_GC_S_MASK) != 0) return CharacterClass::kSymbol;
  if ((category & (U_GC_ND_MASK | U_GC_NO_MASK)) != 0) return CharacterClass::kDigit;
  UErrorCode error = U_ZERO_ERROR;
  if ((category & U_GC_M_MASK) != 0 && uscript_getScript(c, &error) == USCRIPT_INHERITED)
    return CharacterClass::kNone;
  return LetterClass(c, (category & U_GC_L_MASK) != 0);
}

}  // namespace

CharacterClasses UnicodeClasses() { return CharacterClasses(ClassOf); }

Status AppendNormalForm(NormalForm form, std::string_view utf8, std::string& out, Jamo jamo) {
  if (jamo == Jamo::kCompose || form == NormalForm::kNone || form == NormalForm::kNfc)
    return AppendForm(form, utf8, out);
  std::size_t begin = 0;
  for (std::size_t at = 0; at < utf8.size(); at += Utf8Size(utf8[at])) {
    const std::size_t size = kJamoSet.MatchAt(utf8, at);
    if (size == 0) continue;
    RETURN_IF_ERROR(AppendForm(form, utf8.substr(begin, at - begin), out));
    RETURN_IF_ERROR(AppendJamo(utf8.substr(at, size), out));
    begin = at + size;
  }
  return AppendForm(form, utf8.substr(begin), out);
}

Status MakeLowerCase(LetterCase letter_case, std::string& text, std::size_t begin) {
  if (letter_case == LetterCase::kKeep) return {};
  bool ascii = true;
  for (std::size_t at = begin; at < text.size(); ++at) {
    if (text[at] >= 'A' && text[at] <= 'Z') text[at] = static_cast<char>(text[at] - 'A' + 'a');
    ascii = ascii && static_cast<signed char>(text[at]) >= 0;
  }
  if (ascii || letter_case == LetterCase::kLowerAscii) return {};
  // The letters around a capital sigma decide its small form, whether they are capital or small.
  const std::string_view before = std::string_view(text).substr(begin);
  if (before.size() > INT_MAX) return Status(Code::kResourceExhausted, "a record of 2 GiB or more");
  std::string lower;
  lower.reserve(before.size());
  AppendSink sink(lower);
  UErrorCode error = U_ZERO_ERROR;
  icu::CaseMap::utf8ToLower("", 0, icu::StringPiece(before.data(), static_cast<std::int32_t>(before.size())),
                            sink, nullptr, error);
  if (U_FAILURE(error)) return IcuError(error);
  text.replace(begin, std::string::npos, lower);
  return {};
}

CodePointSet StableCodePoints(NormalForm form, LetterCase letter_case, Jamo jamo) {
  const UProperty quick_check = form == NormalForm::kNfc ? UCHAR_NFC_QUICK_CHECK : UCHAR_NFKC_QUICK_CHECK;
  CodePointSet stable;
  for (UChar32 c = 0; c < 0x10000; ++c) {
    if (U_IS_SURROGATE(c)) continue;
    const bool normal = form == NormalForm::kNone ||
                        (u_getIntPropertyValue(c, quick_check) == UNORM_YES && u_getCombiningClass(c) == 0);
    const bool changes = letter_case == LetterCase::kLower
                             ? u_hasBinaryProperty(c, UCHAR_CHANGES_WHEN_LOWERCASED)
                         : letter_case == LetterCase::kLowerAscii ? c >= 'A' && c <= 'Z'
                                                                  : false;
    if (normal && !changes) stable.Add(static_cast<char32_t>(c));
  }
  if (form == NormalForm::kNmtNfkc)
    for (const NmtRule& rule : kNmtRules)
      for (char32_t c = rule.first; c <= rule.last; ++c) stable.Remove(c);
  if (jamo == Jamo::kKeep)
    for (char32_t c = kFirstJamo; c <= kLastJamo; ++c) stable.Add(c);
  return stable;
}

std::string IcuVersion() {
  UVersionInfo version;
  u_getVersion(version);
  return StrCat(int{version[0]}, ".", int{version[1]});
}

}  // namespace pipeline
