#include "cli/report/html.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/str.h"
#include "base/utf8.h"
#include "cli/report/text_profile.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

void AppendEscaped(std::string& out, std::string_view character) {
  switch (character.front()) {
    case '&': out += "&amp;"; return;
    case '<': out += "&lt;"; return;
    case '>': out += "&gt;"; return;
    case '"': out += "&quot;"; return;
    case '\'': out += "&#39;"; return;
    default: out += character;
  }
}

/// Three digits: "1.46", "14.6", "146".
std::string ThreeDigits(double value) { return Fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0); }

/// Empty: undecided.
std::string_view LanguageOf(std::string_view text) {
  bool kanji = false;
  while (!text.empty()) {
    switch (ClassOf(TakeUtf8Character(text))) {
      case ProfileClass::kHiragana:
      case ProfileClass::kKatakana: return "ja";
      case ProfileClass::kHangul: return "ko";
      case ProfileClass::kKanji: kanji = true; break;
      default: break;
    }
  }
  return kanji ? "ja" : "";
}

std::uint64_t Rounded(double value) { return static_cast<std::uint64_t>(value + 0.5); }

}  // namespace

bool IsShapeless(char32_t c) {
  if (c == U'\t' || c == U'\n') return false;
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0xAD || c == 0x61C || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF ||
         (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xFE00 && c <= 0xFE0F) || (c >= 0xE0000 && c <= 0xE0FFF) ||
         (c & 0xFFFE) == 0xFFFE;
}

std::string HtmlText(std::string_view text) {
  std::string clean, out;
  RepairUtf8(text, clean);
  std::string_view rest = clean;
  while (!rest.empty()) {
    const std::string_view before = rest;
    const char32_t code_point = TakeUtf8Character(rest);
    if (IsShapeless(code_point))
      out += kReplacement;
    else
      AppendEscaped(out, before.substr(0, before.size() - rest.size()));
  }
  return out;
}

std::string HtmlFront(std::string_view text, std::size_t most) {
  const std::string_view front = Utf8Front(text, most);
  return StrCat(HtmlText(front), front.size() < text.size() ? "&hellip;" : "");
}

std::string HtmlLanguage(std::string_view text) {
  const std::string_view language = LanguageOf(text);
  return language.empty() ? std::string() : StrCat(" lang=\"", language, "\"");
}

std::string HtmlWide(std::string_view label, std::string_view html) {
  return StrCat("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"", label, "\">", html,
                "</div>");
}

std::string HtmlHead(std::string_view html, std::string_view attributes) {
  return StrCat("<th scope=\"col\"", attributes, ">", html, "</th>");
}

std::string HtmlHeads(std::initializer_list<std::string_view> names) {
  std::string heads;
  for (const std::string_view name : names) heads += HtmlHead(name);
  return heads;
}

std::string HtmlCell(std::string_view html) { return StrCat("<td>", html, "</td>"); }

std::string HtmlTextCell(std::string_view html) { return StrCat("<td class=\"text\">", html, "</td>"); }

std::string HtmlTable(std::string_view label, std::string_view heads, std::string_view rows,
                      std::string_view attributes) {
  return HtmlWide(label, StrCat("<table", attributes, "><thead><tr>", heads, "</tr></thead><tbody>\n", rows,
                                "</tbody></table>"));
}

std::string HtmlFact(std::string_view name, std::string_view html) {
  return html.empty() ? std::string() : StrCat("<dt>", name, "</dt><dd>", html, "</dd>\n");
}

std::string Grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string GroupedCount(std::uint64_t number, std::string_view one) {
  return StrCat(Grouped(number), " ", one, number == 1 ? "" : "s");
}

std::string GroupedUnlessZero(std::uint64_t number) { return number > 0 ? Grouped(number) : std::string(); }

std::string Short(std::uint64_t number) {
  if (number < 1000) return std::to_string(number);
  double value = static_cast<double>(number);
  std::string_view unit;
  for (const std::string_view larger : {"k", "M", "G", "T", "P"}) {
    if (value < 999.5) break;
    value /= 1000;
    unit = larger;
  }
  return StrCat(ThreeDigits(value), " ", unit);
}

std::string Percent(double part, double whole) {
  if (whole <= 0) return {};
  const double percent = 100 * part / whole;
  if (percent == 0) return "0 %";
  if (percent < 0.01) return "< 0.01 %";
  if (percent < 1) return Fixed(percent, 2) + " %";
  // Only the whole is 100 %.
  if (percent < 100 && percent >= 99.95) return "> 99.9 %";
  return Fixed(percent, percent >= 100 ? 0 : 1) + " %";
}

std::string Span(double seconds) {
  if (seconds > 0 && seconds < 0.00095) return Fixed(seconds * 1000, 1) + " ms";
  if (seconds < 0.0995) return StrCat(Rounded(seconds * 1000), " ms");
  if (seconds < 59.95) return ThreeDigits(seconds) + " s";
  const std::uint64_t whole = Rounded(seconds);
  if (whole < 3600) return StrCat(whole / 60, " m ", ZeroPadded(whole % 60, 2), " s");
  if (whole < 86400) return StrCat(whole / 3600, " h ", ZeroPadded(whole / 60 % 60, 2), " m");
  return StrCat(whole / 86400, " d ", whole / 3600 % 24, " h");
}

std::string Fixed(double value, int digits) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, std::clamp(value, -1e15, 1e15));
  return text.data();
}

}  // namespace pipeline
