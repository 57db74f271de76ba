// Formats text and numbers for an HTML page. Pure functions.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace pipeline {

/// `text` for use between tags or in a quoted attribute; none of it is interpreted as markup. Invisible
/// characters, characters that change the text direction, and invalid UTF-8 become U+FFFD.
std::string HtmlText(std::string_view text);

/// The front of `text`, at most `most` bytes, as HtmlText; three dots for the rest.
std::string HtmlFront(std::string_view text, std::size_t most);

/// ` lang="ja"` or ` lang="ko"`, by the letters in `text`: the attribute of its element, which selects the
/// right glyphs. Empty: undecided.
std::string HtmlLanguage(std::string_view text);

/// Markup that a narrow page scrolls. `label` names it for those who do not see it.
std::string HtmlWide(std::string_view label, std::string_view html);

/// The head cell of a column. `attributes`: as kHtmlLeft.
std::string HtmlHead(std::string_view html, std::string_view attributes = {});
std::string HtmlHeads(std::initializer_list<std::string_view> names);
inline constexpr std::string_view kHtmlLeft = " style=\"text-align:left\"";

/// A cell of a table; `html` is markup.
std::string HtmlCell(std::string_view html);
/// The same for a column of text.
std::string HtmlTextCell(std::string_view html);

/// A table as HtmlWide. `heads`: its head cells; `rows`: whole rows; `attributes`: of the table.
std::string HtmlTable(std::string_view label, std::string_view heads, std::string_view rows,
                      std::string_view attributes = {});

/// A row of a list of facts; empty: the fact is.
std::string HtmlFact(std::string_view name, std::string_view html);

/// True for characters that HtmlText replaces.
bool IsShapeless(char32_t code_point);

/// "1,234,567"
std::string Grouped(std::uint64_t number);
/// "1 unit", "1,234 units": with the noun `one`, which gets an s for every number but 1.
std::string GroupedCount(std::uint64_t number, std::string_view one);
/// Grouped; empty for 0.
std::string GroupedUnlessZero(std::uint64_t number);
/// "1.23 M", "12.3 k", "950": three digits.
std::string Short(std::uint64_t number);
/// "12.3 %", "0.04 %", "< 0.01 %"; empty if `whole` is 0.
std::string Percent(double part, double whole);
std::string Percent(std::integral auto part, std::integral auto whole) {
  return Percent(static_cast<double>(part), static_cast<double>(whole));
}
/// "84 ms", "1.46 s", "2 m 05 s", "3 h 20 m", "2 d 4 h"
std::string Span(double seconds);
/// With `digits` digits after the point.
std::string Fixed(double value, int digits);

}  // namespace pipeline
