// Labels that are numbers: stages/export/packed/packed.md.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pipeline {

/// In the place of names, in a configuration and in packed.json.
inline constexpr std::string_view kNumberLabels = "numbers";

/// The characters of all numbers, and the most that one has.
inline constexpr std::string_view kNumberCharacters = "-.0123456789e";
inline constexpr std::size_t kLongestNumber = 24;

/// The text of a number in rows: the shortest that gives the same double, so 4.5 for "+4.50". Absent: the
/// label is no finite decimal number.
std::optional<std::string> NumberLabel(std::string_view label);

}  // namespace pipeline
