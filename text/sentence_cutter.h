// Where the sentences of a line end, in Japanese, Korean, Chinese and Latin script. Rules: text/sentences.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace pipeline {

/// A quotation holds no end of a sentence unless it is longer, in bytes, from mark to mark.
inline constexpr std::size_t kMostQuotedBytes = 768;

/// Replaces `ends` by where each sentence of `line` ends, in bytes: ascending, between characters, the last
/// one line.size(). White space belongs to the sentence that follows it, at the end of the line to the last
/// one; a line of nothing else is one sentence. An empty line has none. What is no UTF-8 is like text
/// without marks. Holds nothing but `ends`; takes time in proportion to the line, whatever it holds.
void FindSentenceEnds(std::string_view line, std::vector<std::uint32_t>& ends);

}  // namespace pipeline
