#include "text/sentencepiece/token_cutter.h"

#include <algorithm>

#include "text/sentence_cutter.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace pipeline {

namespace {

/// The search for a better end goes this many bytes beyond the end that the ids of the whole line suggest: a
/// text that is encoded in parts seldom has fewer ids.
constexpr std::size_t kLookBehind = 64;

std::size_t NextCharacter(std::string_view text, std::size_t at) {
  ++at;
  while (at < text.size() && IsUtf8Tail(text[at])) ++at;
  return at;
}

}  // namespace

/// Returns the number of tokens of `text` with its end mark.
Result<std::size_t> TokenCutter::Count(std::string_view text) {
  ids_.clear(), ends_.clear();
  RETURN_IF_ERROR(encoder_.Encode(text, scratch_, ids_, ends_));
  return ids_.size() + 1;
}

Result<bool> TokenCutter::Fits(std::size_t begin, std::size_t end) {
  ASSIGN_OR_RETURN(const std::size_t tokens, Count(StripWhiteSpace(line_.substr(begin, end - begin))));
  return tokens <= max_tokens_;
}

/// Returns the position up to which the ids of the whole line, from `begin` on, are as many as a part may
/// have.
std::size_t TokenCutter::Estimate(std::size_t begin) const {
  const auto first = std::upper_bound(line_ends_.begin(), line_ends_.end(), begin);
  const auto left = static_cast<std::size_t>(line_ends_.end() - first);
  const std::size_t most = max_tokens_ - 1;
  return most >= left ? line_.size() : *(first + static_cast<std::ptrdiff_t>(most) - 1);
}

/// Returns the last of `ends`, which ascend, up to which the text from `begin` on fits; the search begins at
/// `guess`. `begin`: none fits.
Result<std::size_t> TokenCutter::LastThatFits(std::size_t begin, std::size_t guess,
                                              std::span<const std::uint32_t> ends) {
  auto next = std::upper_bound(ends.begin(), ends.end(), guess);  // the first end that is not known to fit
  bool fits = false;
  while (next != ends.begin() && !fits) {
    ASSIGN_OR_RETURN(fits, Fits(begin, *(next - 1)));
    if (!fits) --next;
  }
  if (!fits && !ends.empty() && ends.front() <= guess) return begin;
  while (next != ends.end() && *next <= guess + kLookBehind) {
    ASSIGN_OR_RETURN(fits, Fits(begin, *next));
    if (!fits) break;
    ++next;
  }
  return next == ends.begin() ? begin : *(next - 1);
}

/// Returns the end of a part that begins at `begin`, inside a sentence that ends at `end` and does not fit.
Result<std::size_t> TokenCutter::InSentence(std::size_t begin, std::size_t end,
                                            std::span<const std::uint32_t> cuts) {
  const std::size_t guess = std::min(Estimate(begin), end);
  const std::size_t last = std::min(end, guess + kLookBehind);
  const std::size_t text = WhiteSpaceEnd(line_, begin);  // a part is more than white space
  candidates_.clear();
  auto cut = std::upper_bound(cuts.begin(), cuts.end(), text);
  for (std::size_t at = NextCharacter(line_, text); at < last; at = NextCharacter(line_, at)) {
    while (cut != cuts.end() && *cut < at) ++cut;
    if (WhiteSpaceEnd(line_, at) > at || (cut != cuts.end() && *cut == at))
      candidates_.push_back(static_cast<std::uint32_t>(at));
  }
  ASSIGN_OR_RETURN(const std::size_t found, LastThatFits(begin, guess, candidates_));
  if (found > begin) return found;
  candidates_.clear();
  for (std::size_t at = NextCharacter(line_, text); at < last; at = NextCharacter(line_, at))
    candidates_.push_back(static_cast<std::uint32_t>(at));
  return LastThatFits(begin, guess, candidates_);
}

Result<std::size_t> TokenCutter::Cut(std::string_view line, std::span<const std::uint32_t> cuts,
                                     std::vector<std::string_view>& parts) {
  parts.clear();
  line_ = line;
  ASSIGN_OR_RETURN(const std::size_t tokens, Count(line));
  if (tokens <= max_tokens_) {
    parts.push_back(line);
    return std::size_t{0};
  }
  line_ends_.swap(ends_);
  FindSentenceEnds(line, sentences_);
  std::size_t too_long = 0;
  for (std::size_t begin = 0; begin < line.size();) {
    const auto sentence = std::upper_bound(sentences_.begin(), sentences_.end(), begin);
    ASSIGN_OR_RETURN(std::size_t end, LastThatFits(begin, Estimate(begin), {sentence, sentences_.end()}));
    if (end == begin) {
      ASSIGN_OR_RETURN(end, InSentence(begin, *sentence, cuts));
    }
    if (end == begin) {
      end = NextCharacter(line, WhiteSpaceEnd(line, begin));
      ++too_long;
    }
    end = std::min(end, line.size());
    if (const std::string_view part = StripWhiteSpace(line.substr(begin, end - begin)); !part.empty())
      parts.push_back(part);
    begin = end;
  }
  if (parts.empty()) parts.push_back(line);
  return too_long;
}

}  // namespace pipeline
