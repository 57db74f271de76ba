// Looks for text in the lines of a run or a plan.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipeline {

/// True if one of the lines contains `text`.
inline bool Says(const std::vector<std::string>& lines, std::string_view text) {
  for (const std::string& line : lines)
    if (line.find(text) != std::string::npos) return true;
  return false;
}

}  // namespace pipeline
