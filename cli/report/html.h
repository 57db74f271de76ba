// Formats text and numbers for an HTML page. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pipeline {

/// `text` for use between tags or in a quoted attribute; none of it is interpreted as markup. Invisible
/// characters, characters that change the text direction, and invalid UTF-8 become U+FFFD.
std::string HtmlText(std::string_view text);

/// A cell of a table; `html` is markup.
std::string HtmlCell(std::string_view html);

/// True for characters that HtmlText replaces.
bool IsShapeless(char32_t code_point);

/// "U+200B"
std::string CodePointName(char32_t code_point);

/// "ja" or "ko", by the letters in `text`; empty: undecided. Selects the right glyphs.
std::string_view LanguageOf(std::string_view text);

/// "1,234,567"
std::string Grouped(std::uint64_t number);
/// The same; empty for 0.
std::string GroupedUnlessZero(std::uint64_t number);
/// "1.23 M", "12.3 k", "950": three digits.
std::string Short(std::uint64_t number);
/// "12.3 %", "0.04 %", "< 0.01 %"; empty if `whole` is 0.
std::string Percent(double part, double whole);
/// "84 ms", "1.46 s", "2 m 05 s", "3 h 20 m", "2 d 4 h"
std::string Span(double seconds);
/// With `digits` digits after the point.
std::string Fixed(double value, int digits);

}  // namespace pipeline
