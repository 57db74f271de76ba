// The first names of a list, for one line of text.
#pragma once

#include <string>
#include <vector>

namespace pipeline {

/// "a, b, c and 4 more"
std::string FirstOf(const std::vector<std::string>& names);

}  // namespace pipeline
