// Text and numbers as they stand on a page. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pipeline {

/// `text` between tags or in a quoted attribute: nothing of it is taken for markup. What has no shape, or
/// changes the direction of what follows, becomes U+FFFD, as do bytes that are not UTF-8.
std::string HtmlText(std::string_view text);

/// True for characters that HtmlText does not let through.
bool IsShapeless(char32_t code_point);

/// "U+200B"
std::string CodePointName(char32_t code_point);

/// "ja" or "ko" by the letters in it; empty where nothing tells: which glyphs are right for a text.
std::string_view LanguageOf(std::string_view text);

/// "1,234,567"
std::string Grouped(std::uint64_t number);
/// "1.23 M", "12.3 k", "950": three digits.
std::string Short(std::uint64_t number);
/// "12.3 %", "0.04 %", "< 0.01 %"; empty where there is no whole.
std::string Percent(double part, double whole);
/// "84 ms", "1.46 s", "2 m 05 s", "3 h 20 m", "2 d 4 h"
std::string Span(double seconds);
/// With so many digits after the point.
std::string Fixed(double value, int digits);

}  // namespace pipeline
