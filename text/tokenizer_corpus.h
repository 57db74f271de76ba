// Training data for the SentencePiece library: the lines of a text, cut into sentences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/result.h"

namespace pipeline {

using TakeSentence = std::function<Status(std::string_view sentence)>;

/// The library marks unknown text with U+2585 and skips sentences that contain it: sentences are cut there.
inline constexpr std::string_view kReservedMark = "\u2585";
/// Represents a space in pieces; in text it is decoded as a space.
inline constexpr std::string_view kSpaceMark = "\u2581";

/// Cuts `line` (UTF-8) into sentences of at most `limit` bytes (at least 8): after the last sentence end
/// that fits, else after the last white space, else between two characters. Only reserved marks are lost.
/// Returns the number of cuts.
Result<std::uint64_t> CutIntoSentences(std::string_view line, std::size_t limit, const TakeSentence& take);

/// Joins the morphemes of `line` with single spaces into sentences of at most `limit` bytes. A longer
/// morpheme is a sentence of its own and is cut as above. Drops white space around morphemes. Returns the
/// number of cuts.
Result<std::uint64_t> JoinMorphemes(std::string_view line, std::span<const std::uint32_t> cuts,
                                    std::size_t limit, const TakeSentence& take);

}  // namespace pipeline
