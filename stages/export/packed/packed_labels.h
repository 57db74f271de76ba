// The labels that end labelled documents: names, as packed.json has them, or numbers. Rules:
// stages/export/packed/packed.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "stages/tokenizer/tokenizer_facts.h"

namespace pipeline {

struct PackedLabel {
  std::string name;
  std::vector<std::uint32_t> ids;  // of the name, without those of line ends
  bool operator==(const PackedLabel&) const = default;
};

/// kInvalidArgument: this many names are too few.
Status TooFewLabels(std::size_t names);

/// OK, or kInvalidArgument if these labels cannot be told apart as the page says; the message names one or
/// two of them, and the remedy.
Status CheckPackedLabels(const std::vector<PackedLabel>& labels, const TokenizerFacts& tokenizer);

/// The member `labels` of packed.json.
Json PackedLabelsJson(const std::vector<PackedLabel>& labels);
/// kDataLoss names the wrong element. Does not call CheckPackedLabels.
Result<std::vector<PackedLabel>> PackedLabelsFromJson(const Json& json);

/// In the place of names, in a configuration and in packed.json.
inline constexpr std::string_view kNumberLabels = "numbers";

/// The characters of all numbers, and the most that one has.
inline constexpr std::string_view kNumberCharacters = "-.0123456789e";
inline constexpr std::size_t kLongestNumber = 24;

/// The text of a number in rows: the shortest that gives the same double, so 4.5 for "+4.50". Absent: the
/// label is no finite decimal number.
std::optional<std::string> NumberLabel(std::string_view label);

}  // namespace pipeline
