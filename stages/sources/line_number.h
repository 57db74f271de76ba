// Finds the number of a line, for messages about records. Reads the input again from its front.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>

#include "dag/records/source.h"
#include "formats/line_rules.h"
#include "stages/sources/decoded_input.h"

namespace pipeline {

/// Text in front of which lines are counted. To count further would keep a person waiting for a message.
inline constexpr std::uint64_t kCountedText = std::uint64_t{256} << 20;

/// Returns the number, from 1, of the line of the text at whose offset `at` a record begins. Absent: `at` is
/// behind kCountedText, or the input is an archive or cannot be read.
std::optional<std::uint64_t> LineAt(const InputFile& file, const LineRules& rules, const InputRules& input,
                                    std::uint64_t at, const std::stop_token& stop);

/// Does the same for record `index` of a partition, as `rules` cut it. Absent also if there is none.
std::optional<std::uint64_t> LineOfRecord(const InputFile& file, const LineRules& rules,
                                          const InputRules& input, std::uint32_t partition,
                                          std::uint64_t index, const std::stop_token& stop);

}  // namespace pipeline
