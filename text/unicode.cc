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
#include "text/white_space.h"

namespace pipeline {

namespace {

/// A rule that nmt_nfkc applies before NFKC.
struct NmtRule {
  char32_t code_point;
  std::string_view utf8;
  std::string_view becomes;
};

constexpr NmtRule kNmtRules[] = {
    {0x0001, "\x01", ""},          {0x0002, "\x02", ""},
    {0x0003, "\x03", ""},          {0x0004, "\x04", ""},
    {0x0005, "\x05", ""},          {0x0006, "\x06", ""},
    {0x0007, "\x07", ""},          {0x0008, "\x08", ""},
    {0x0009, "\x09", " "},         {0x000a, "\x0a", " "},
    {0x000b, "\x0b", ""},          {0x000c, "\x0c", " "},
    {0x000d, "\x0d", " "},         {0x000e, "\x0e", ""},
    {0x000f, "\x0f", ""},          {0x0010, "\x10", ""},
    {0x0011, "\x11", ""},          {0x0012, "\x12", ""},
    {0x0013, "\x13", ""},          {0x0014, "\x14", ""},
    {0x0015, "\x15", ""},          {0x0016, "\x16", ""},
    {0x0017, "\x17", ""},          {0x0018, "\x18", ""},
    {0x0019, "\x19", ""},          {0x001a, "\x1a", ""},
    {0x001b, "\x1b", ""},          {0x001c, "\x1c", ""},
    {0x001d, "\x1d", ""},          {0x001e, "\x1e", ""},
    {0x001f, "\x1f", ""},          {0x007f, "\x7f", ""},
    {0x008f, "\xc2\x8f", ""},      {0x009f, "\xc2\x9f", ""},
    {0x1680, "\xe1\x9a\x80", " "}, {0x200b, "\xe2\x80\x8b", " "},
    {0x200c, "\xe2\x80\x8c", " "}, {0x200e, "\xe2\x80\x8e", " "},
    {0x200f, "\xe2\x80\x8f", " "}, {0x2028, "\xe2\x80\xa8", " "},
    {0x2029, "\xe2\x80\xa9", " "}, {0x2581, "\xe2\x96\x81", " "},
    {0xfeff, "\xef\xbb\xbf", " "}, {0xff5e, "\xef\xbd\x9e", "\xef\xbd\x9e"},
    {0xfffd, "\xef\xbf\xbd", " "},
};

constexpr CodePointSet MakeNmtSet() {
  CodePointSet set;
  for (const NmtRule& rule : kNmtRules) set.Add(rule.code_point);
  return set;
}
constexpr CodePointSet kNmtSet = MakeNmtSet();

/// Returns the rule for the character at the beginning of `text`, which is in kNmtSet.
const NmtRule& NmtRuleFor(std::string_view text) {
  return *std::find_if(std::begin(kNmtRules), std::end(kNmtRules),
                       [text](const NmtRule& rule) { return text.substr(0, rule.utf8.size()) == rule.utf8; });
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
    if (kNmtSet.MatchAt(utf8, at) == 0) continue;
    const NmtRule& rule = NmtRuleFor(utf8.substr(at));
    RETURN_IF_ERROR(AppendByIcu(NormalForm::kNfkc, utf8.substr(begin, at - begin), out));
    out.append(rule.becomes);
    begin = at + rule.utf8.size();
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
    for (const NmtRule& rule : kNmtRules) stable.Remove(rule.code_point);
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
