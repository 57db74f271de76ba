// What stages did to text: records before and after, and what text was made of at each point.
#pragma once

#include <string>

#include "cli/run_record.h"

namespace pipeline {

/// Pairs of every stage that changed or dropped records; empty where none was seen.
std::string SampleSection(const RunRecord& record);

/// Lengths and character classes; empty where no text was looked at.
std::string ProfileSection(const RunRecord& record);

/// What differs between two texts, by characters: which of each are not in the other.
struct Differences {
  std::vector<bool> gone;   // of the first text's characters
  std::vector<bool> added;  // of the second's
};
Differences Differ(const std::vector<char32_t>& before, const std::vector<char32_t>& after);

}  // namespace pipeline
