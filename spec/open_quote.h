// The quote that makes a text no YAML. A parser notices it where the text ends or where another quote
// comes, perhaps many lines below.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace pipeline {

struct OpenQuote {
  std::size_t opens = 0;  // offset of the quote
  std::optional<std::size_t>
      closes;  // of the one that the parser takes for its end; absent where there is none
};

/// The first quoted scalar of `text` that has no end, or behind whose end stands what may not stand there.
/// The first is a mistake wherever it is found; the second tells why a parser refused the text, not whether
/// it must.
std::optional<OpenQuote> FindOpenQuote(std::string_view text);

}  // namespace pipeline
