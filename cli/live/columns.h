// Text as wide as a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pipeline {

/// How many columns of a terminal `text` takes: wide characters two, marks that stand on others none.
std::size_t ColumnsOf(std::string_view text);

/// `text`, cut between characters where it is wider than `columns`; "..." says so.
std::string FitColumns(std::string_view text, std::size_t columns);

}  // namespace pipeline
