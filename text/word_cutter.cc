#include "text/word_cutter.h"

#include <algorithm>
#include <array>

#include "text/utf8.h"
#include "text/white_space.h"

namespace pipeline {

namespace {

constexpr std::array<std::string_view, 8> kSentenceEnds = {"。", "．", "！", "？", "…", "!", "?", "\n"};
constexpr std::array<std::string_view, 17> kClosing = {"」", "』", "）", "】", "〉", "》", "”", "’", "〕",
                                                       "］", "｝", "\"", "'",  ")",  "]",  "}", "｣"};
constexpr std::array<std::string_view, 2> kPauses = {"、", "，"};

template <std::size_t n>
std::size_t MatchAt(const std::array<std::string_view, n>& set, std::string_view text) {
  for (const std::string_view one : set)
    if (text.starts_with(one)) return one.size();
  return 0;
}

bool IsBlank(char byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }

/// Returns the bytes of the sentence end at the front of `text`, with closing characters after it; 0: there
/// is none.
std::size_t SentenceEndAt(std::string_view text) {
  std::size_t bytes = MatchAt(kSentenceEnds, text);
  if (bytes == 0 && text.size() >= 2 && text[0] == '.' && IsBlank(text[1])) bytes = 1;
  if (bytes == 0) return 0;
  while (true) {
    const std::string_view rest = text.substr(bytes);
    std::size_t more = MatchAt(kClosing, rest);
    if (more == 0) more = MatchAt(kSentenceEnds, rest);  // "？！"
    if (more == 0) return bytes;
    bytes += more;
  }
}

}  // namespace

TextPiece FirstPiece(std::string_view text) {
  if (text.size() <= kMostAnalysedBytes) return {text.size(), false};
  // A place depends on a few characters after it.
  const std::string_view window = text.substr(0, kMostAnalysedBytes);
  for (std::size_t at = window.size(); at-- > 0;) {
    if (IsUtf8Tail(window[at])) continue;
    const std::size_t bytes = SentenceEndAt(window.substr(at));
    if (bytes > 0 && !IsUtf8Tail(text[at + bytes])) return {at + bytes, false};
  }
  for (std::size_t at = window.size(); at-- > 1;) {
    if (window[at] == ' ') {  // a whole run of spaces belongs to the text after it
      const std::size_t before = window.find_last_not_of(' ', at);
      return {before == std::string_view::npos ? at : before + 1, true};
    }
    if (const std::size_t bytes = MatchAt(kPauses, window.substr(at)); bytes > 0) return {at + bytes, true};
  }
  std::size_t forced = kForcedPieceBytes;
  while (forced > 1 && IsUtf8Tail(text[forced])) --forced;
  return {forced, true};
}

WordFallbacks WordCutter::Cut(std::string_view text, std::vector<std::uint32_t>& cuts) {
  WordFallbacks fallbacks;
  for (std::size_t offset = 0; offset < text.size();) {
    const TextPiece piece = FirstPiece(text.substr(offset));
    if (piece.inside_sentence) fallbacks.cut_inside_sentence = true;
    CutPiece(text.substr(offset, piece.bytes), offset, cuts, fallbacks);
    offset += piece.bytes;
  }
  return fallbacks;
}

void WordCutter::CutPiece(std::string_view piece, std::size_t offset, std::vector<std::uint32_t>& cuts,
                          WordFallbacks& fallbacks) {
  const std::size_t before = cuts.size();
  if (!analyser_->Analyse(piece, morphemes_))
    fallbacks.analyser_failed = true;
  else if (AppendMorphemes(piece, offset, cuts))
    return;
  else
    fallbacks.rejoin_mismatch = true;
  cuts.resize(before);
  for (std::size_t end = 1; end <= piece.size(); ++end)
    if (end == piece.size() || !IsUtf8Tail(piece[end]))
      cuts.push_back(static_cast<std::uint32_t>(offset + end));
}

/// False: the joined morphemes are not the piece; some cuts may have been appended.
bool WordCutter::AppendMorphemes(std::string_view piece, std::size_t offset,
                                 std::vector<std::uint32_t>& cuts) const {
  std::size_t end = 0;
  for (const std::string_view morpheme : morphemes_) {
    if (morpheme.empty() || !piece.substr(end).starts_with(morpheme)) return false;
    end += morpheme.size();
    if (end < piece.size() && IsUtf8Tail(piece[end])) return false;
    cuts.push_back(static_cast<std::uint32_t>(offset + end));
  }
  if (end == piece.size()) return true;
  if (!StripWhiteSpace(piece.substr(end)).empty()) return false;
  if (morphemes_.empty()) cuts.emplace_back();
  cuts.back() = static_cast<std::uint32_t>(offset + piece.size());
  return true;
}

}  // namespace pipeline
