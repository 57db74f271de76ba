#include "text/tokenizer_corpus.h"

#include <algorithm>
#include <array>
#include <string>

#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::array<std::string_view, 8> kEnders = {"。", "！", "？", "．", "!", "?", "」", "』"};

/// Returns the end of the last sentence in `text`; 0: none ends. A full stop counts if a space follows.
std::size_t LastSentenceEnd(std::string_view text) {
  std::size_t last = 0;
  for (const std::string_view ender : kEnders) {
    const std::size_t at = text.rfind(ender);
    if (at != std::string_view::npos) last = std::max(last, at + ender.size());
  }
  const std::size_t stop = text.rfind(". ");
  return stop == std::string_view::npos ? last : std::max(last, stop + 1);
}

/// Returns the bytes of `text`, which is longer than `limit`, that go into the next sentence.
std::size_t CutBefore(std::string_view text, std::size_t limit) {
  const std::string_view front = text.substr(0, limit);
  if (const std::size_t end = LastSentenceEnd(front); end > 0) return end;
  if (const std::size_t space = front.find_last_of(" \t"); space != std::string_view::npos) return space + 1;
  std::size_t cut = limit;
  while (cut > 1 && IsUtf8Tail(text[cut])) --cut;
  return cut;
}

Result<std::uint64_t> CutWithoutMarks(std::string_view text, std::size_t limit, const TakeSentence& take) {
  std::uint64_t cuts = 0;
  for (; text.size() > limit; ++cuts) {
    const std::size_t size = CutBefore(text, limit);
    RETURN_IF_ERROR(take(text.substr(0, size)));
    text.remove_prefix(size);
  }
  if (!text.empty()) RETURN_IF_ERROR(take(text));
  return cuts;
}

std::string_view WithoutSpaces(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

}  // namespace

Result<std::uint64_t> CutIntoSentences(std::string_view line, std::size_t limit, const TakeSentence& take) {
  std::uint64_t cuts = 0;
  while (true) {
    const std::size_t mark = line.find(kReservedMark);
    ASSIGN_OR_RETURN(const std::uint64_t more, CutWithoutMarks(line.substr(0, mark), limit, take));
    cuts += more;
    if (mark == std::string_view::npos) return cuts;
    line.remove_prefix(mark + kReservedMark.size());
    ++cuts;
  }
}

Result<std::uint64_t> JoinMorphemes(std::string_view line, std::span<const std::uint32_t> cuts,
                                    std::size_t limit, const TakeSentence& take) {
  std::string sentence;
  std::uint64_t made = 0;
  const auto finish = [&]() -> Status {
    if (sentence.empty()) return {};
    ASSIGN_OR_RETURN(const std::uint64_t more, CutIntoSentences(sentence, limit, take));
    made += 1 + more;
    sentence.clear();
    return {};
  };
  std::size_t begin = 0;
  for (const std::uint32_t end : cuts) {
    const std::string_view morpheme = WithoutSpaces(line.substr(begin, end - begin));
    begin = end;
    if (morpheme.empty()) continue;
    if (!sentence.empty() && sentence.size() + 1 + morpheme.size() > limit) RETURN_IF_ERROR(finish());
    if (!sentence.empty()) sentence += ' ';
    sentence += morpheme;
  }
  RETURN_IF_ERROR(finish());
  return made > 0 ? made - 1 : 0;
}

}  // namespace pipeline
