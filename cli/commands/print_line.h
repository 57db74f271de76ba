// Prints lines of text for people.
#pragma once

#include <string_view>

namespace pipeline {

/// Prints `line` and LF to standard output, without control characters.
void PrintLine(std::string_view line);

}  // namespace pipeline
