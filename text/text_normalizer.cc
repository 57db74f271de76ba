#include "text/text_normalizer.h"

#include "text/white_space.h"

namespace pipeline {

namespace {

// Fewer stable bytes are normalised together with the text around them, because each call of ICU has its
// price.
constexpr std::size_t kWorthCopying = 16;

void StripSpaces(std::string& out, std::size_t begin) {
  if (out.size() > begin && out.back() == ' ') out.pop_back();
  if (out.size() > begin && out[begin] == ' ') out.erase(begin, 1);
}

}  // namespace

NormalForm FormNamed(std::string_view name) {
  if (name == "nfc") return NormalForm::kNfc;
  if (name == "nfkc") return NormalForm::kNfkc;
  if (name == "nmt_nfkc") return NormalForm::kNmtNfkc;
  return NormalForm::kNone;
}

LetterCase CaseNamed(std::string_view name) {
  if (name == "lower") return LetterCase::kLower;
  if (name == "lower_ascii") return LetterCase::kLowerAscii;
  return LetterCase::kKeep;
}

TextNormalizer::TextNormalizer(const TextForm& form)
    : form_(form), stable_(StableCodePoints(form.form, form.letter_case, form.jamo)) {
  if (!form.collapse) return;
  for (char32_t c = 0; c < 0x10000; ++c)
    if (IsWhiteSpace(c) && c != ' ') stable_.Remove(c);
}

Result<bool> TextNormalizer::Append(std::string_view whole, std::string& out) const {
  const std::string_view line = form_.collapse ? StripWhiteSpace(whole) : whole;
  const std::size_t begin = out.size();
  for (std::size_t at = 0; at < line.size();) {
    const StableRun run = StableRunAt(line, at);
    if (run.stop == line.size()) {
      out.append(line.substr(at));
      if (at == 0) return line.size() != whole.size();
      break;
    }
    out.append(line.substr(at, run.joins - at));
    at = form_.letter_case == LetterCase::kKeep ? WorthCopyingAt(line, run.stop) : line.size();
    const std::size_t looked_at = out.size();
    RETURN_IF_ERROR(AppendNormalForm(form_.form, line.substr(run.joins, at - run.joins), out, form_.jamo));
    if (form_.letter_case != LetterCase::kKeep) RETURN_IF_ERROR(Lower(out, begin));
    if (form_.collapse) CollapseWhiteSpace(out, looked_at);
  }
  if (form_.collapse) StripSpaces(out, begin);
  return std::string_view(out).substr(begin) != whole;
}

// The word around a capital, stable characters included, decides about its small letter. A small letter may
// compose with the marks behind it although the capital does not.
Status TextNormalizer::Lower(std::string& out, std::size_t begin) const {
  RETURN_IF_ERROR(MakeLowerCase(form_.letter_case, out, begin));
  if (form_.form == NormalForm::kNone) return {};
  std::string composed;
  RETURN_IF_ERROR(AppendNormalForm(NormalForm::kNfc, std::string_view(out).substr(begin), composed));
  out.replace(begin, std::string::npos, composed);
  return {};
}

/// Single spaces inside the line are stable.
TextNormalizer::StableRun TextNormalizer::StableRunAt(std::string_view line, std::size_t at) const {
  std::size_t last = at;
  while (at < line.size()) {
    if (const std::size_t run = stable_.ThreeByteRunAt(line, at); run > 0) {
      at += run;
      last = at - 3;
      continue;
    }
    const std::size_t size = stable_.MatchAt(line, at);
    if (size == 0 || (form_.collapse && line[at] == ' ' && line.substr(at + 1, 1) == " ")) return {last, at};
    last = at;
    at += size;
  }
  return {last, at};
}

/// Returns the next run that is worth copying, behind the character at `stop`, or the end of the line. The
/// run joins no text before it, and does not begin with a space, which may be one of several.
std::size_t TextNormalizer::WorthCopyingAt(std::string_view line, std::size_t stop) const {
  std::size_t at = stop + Utf8Size(line[stop]);
  for (std::size_t begin = at; at < line.size();) {
    const std::size_t size = stable_.MatchAt(line, at);
    const bool stays = size > 0 && !(form_.collapse && begin == at && line[at] == ' ');
    at += stays ? size : Utf8Size(line[at]);
    if (!stays) begin = at;
    if (at - begin >= kWorthCopying) return begin;
  }
  return line.size();
}

}  // namespace pipeline
