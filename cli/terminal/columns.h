// Fits text to the width of a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pipeline {

/// The number of terminal columns of `text`: wide characters count two, combining marks none.
std::size_t ColumnsOf(std::string_view text);

/// `text`, truncated between characters if wider than `columns`; then it ends in "...".
std::string FitColumns(std::string_view text, std::size_t columns);

}  // namespace pipeline
