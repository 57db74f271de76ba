// Report sections about text: records before and after each stage, and text statistics.
#pragma once

#include <string>

#include "cli/report/run_record.h"

namespace pipeline {

/// Sample pairs of every stage that changed or dropped records; empty: there are none.
std::string SampleSection(const RunRecord& record);

/// Lengths and character classes; empty: no text was sampled.
std::string ProfileSection(const RunRecord& record);

/// The characters of two texts that the other text lacks.
struct Differences {
  std::vector<bool> gone;   // per character of the first text
  std::vector<bool> added;  // per character of the second text
};
Differences Differ(const std::vector<char32_t>& before, const std::vector<char32_t>& after);

}  // namespace pipeline
