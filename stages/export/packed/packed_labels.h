// The labels that end labelled documents, as packed.json has them: stages/export/packed/packed.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
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

}  // namespace pipeline
