// Finds the sentence ends of a line in Japanese, Korean, Chinese and Latin script. Rules:
// text/sentences.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace pipeline {

/// A quotation of at most this many bytes, from mark to mark, contains no sentence end.
inline constexpr std::size_t kMostQuotedBytes = 768;

/// Replaces `ends` by the end of each sentence of `line`, in bytes: ascending, between characters; the last
/// is line.size(). White space belongs to the following sentence; at the end of the line it belongs to the
/// last. A line of white space alone is one sentence. An empty line has none. Bytes that are not UTF-8
/// count as text without marks. Allocates nothing but `ends`; the time is proportional to the length of the
/// line.
void FindSentenceEnds(std::string_view line, std::vector<std::uint32_t>& ends);

}  // namespace pipeline
