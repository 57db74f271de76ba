// Finds the quote that makes a text invalid YAML. A parser notices it only at the end of the text or at
// another quote, perhaps many lines below.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace pipeline {

struct OpenQuote {
  std::size_t opens = 0;  // offset of the opening quote
  std::optional<std::size_t>
      closes;  // offset of the quote that the parser takes for its end; absent: there is none
};

/// Finds the first quoted scalar of `text` that is not closed, or that invalid text follows. The first case
/// is a mistake in any text. The second explains why a parser refused the text; it does not prove a
/// mistake.
std::optional<OpenQuote> FindOpenQuote(std::string_view text);

}  // namespace pipeline
