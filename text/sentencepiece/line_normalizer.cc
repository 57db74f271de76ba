#include "text/sentencepiece/line_normalizer.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>

#include "text/tokenizer_corpus.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr char32_t kSpaceMarkCode = 0x2581;

/// Appends the characters of clean UTF-8.
std::vector<char32_t> CharactersOf(std::string_view text) {
  std::vector<char32_t> found;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Character one = CharacterAt(text.data() + at);
    found.push_back(one.code);
    at += one.bytes;
  }
  return found;
}

bool IsInTrie(const SentencePiece& piece) {
  return piece.type == PieceType::kNormal || piece.type == PieceType::kUserDefined;
}

}  // namespace

LineNormalizer::LineNormalizer(const SentencePieceModel& model, SpaceMarks marks)
    : spacing_(model.spacing()),
      space_(spacing_.escapes ? kSpaceMarkCode : U' '),
      charsmap_(model.charsmap()),
      keeps_marks_(marks == SpaceMarks::kBytes && model.byte_fallback()) {
  AddLabels(model);
  AddOwnSymbols(model);
  MarkRules();
  is_space_plain_ = (table_[U' '] & CharacterTable::kLooks) == 0;
  table_.Look(U' ');
  if (keeps_marks_) table_.Look(kSpaceMarkCode);
}

/// Frequent characters get small labels, so that the units near the root lie together.
void LineNormalizer::AddLabels(const SentencePieceModel& model) {
  std::map<char32_t, std::uint64_t> met;
  for (const SentencePiece& piece : model.pieces())
    if (IsInTrie(piece))
      for (const char32_t code : CharactersOf(piece.text)) ++met[code];
  std::vector<std::pair<std::uint64_t, char32_t>> order;
  for (const auto& [code, count] : met) order.emplace_back(~count, code);
  std::sort(order.begin(), order.end());
  for (const auto& [_, code] : order) {
    table_.SetLabel(code, static_cast<std::uint32_t>(characters_.size()));
    characters_.push_back(code);
  }
}

void LineNormalizer::AddOwnSymbols(const SentencePieceModel& model) {
  std::vector<PieceTrie::Key> keys;
  for (const SentencePiece& piece : model.pieces()) {
    if (piece.type != PieceType::kUserDefined) continue;
    PieceTrie::Key key;
    for (const char32_t code : CharactersOf(piece.text)) key.labels.push_back(table_.LabelOf(code));
    table_.Look(CharacterAt(piece.text.data()).code);
    keys.push_back(std::move(key));
  }
  has_own_symbols_ = !keys.empty();
  if (has_own_symbols_) own_symbols_.Build(std::move(keys), labels());
}

/// Marks each character with which a rule begins.
void LineNormalizer::MarkRules() {
  if (charsmap_.empty()) return;
  std::array<char, 4> bytes{};
  for (char32_t code = 1; code < CharacterTable::kCharacters; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    const std::string_view text = EncodeCharacter(code, bytes);
    Charsmap::State state = charsmap_.root();
    bool begins = true;
    for (const char byte : text) {
      begins = charsmap_.Step(state, byte);
      if (!begins || state.ends_rule) break;
    }
    if (begins) table_.Look(code);
  }
}

std::size_t LineNormalizer::OwnSymbolAt(std::string_view text) const {
  std::int32_t state = own_symbols_.root();
  std::size_t longest = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Character one = CharacterAt(text.data() + at);
    const std::uint32_t label = table_.LabelOf(one.code);
    if (label == 0 || !own_symbols_.Step(state, label)) break;
    at += one.bytes;
    if (own_symbols_.at(state).value >= 0) longest = at;
  }
  return longest;
}

LineNormalizer::Replaced LineNormalizer::ReplaceFront(std::string_view text) const {
  if (has_own_symbols_)
    if (const std::size_t bytes = OwnSymbolAt(text); bytes > 0) return {bytes, text.substr(0, bytes)};
  if (!charsmap_.empty())
    if (const Charsmap::Match match = charsmap_.Longest(text); match.bytes > 0)
      return {match.bytes, match.replacement};
  const std::size_t bytes = CharacterAt(text.data()).bytes;
  return {bytes, text.substr(0, bytes)};
}

void LineNormalizer::Normalize(std::string_view line, LineSymbols& out) const {
  out.count = 0;
  std::size_t at = 0;
  std::size_t mark =
      keeps_marks_ ? line.find(kSpaceMark) : std::string_view::npos;  // no rule reaches over it
  if (spacing_.removes_extra) {
    while (at < std::min(line.size(), mark)) {
      const Replaced front = ReplaceFront(line.substr(at, mark - at));
      if (front.by != " ") break;
      at += front.bytes;
    }
  }
  if (at == line.size()) return;
  constexpr std::size_t kAround = 2;  // a prefix or suffix, and the end
  const auto reserve = [&out](std::size_t more) {
    if (out.count + more <= out.symbols.size()) return;
    out.symbols.resize(out.count + more + more / 2);
    out.begins.resize(out.symbols.size());
  };
  reserve(line.size() - at + kAround);
  const std::uint32_t space = SymbolOf(space_);
  const auto add = [&out](std::uint32_t symbol, std::size_t begin) {
    out.symbols[out.count] = symbol;
    out.begins[out.count++] = static_cast<std::uint32_t>(begin);
  };
  if (spacing_.adds_prefix && !spacing_.is_suffix) add(space, at);
  bool after_space = spacing_.removes_extra;
  while (at < line.size()) {
    const Utf8Character one = CharacterAt(line.data() + at);
    const std::uint32_t entry = table_[one.code];
    if ((entry & CharacterTable::kLooks) == 0) {
      add(entry != 0 ? entry : LineSymbols::kOutside | one.code, at);
      after_space = false;
      at += one.bytes;
      continue;
    }
    if (one.code == U' ' && is_space_plain_) {
      if (!after_space) add(space, at);
      after_space = spacing_.removes_extra;
      ++at;
      continue;
    }
    if (at == mark) {
      add(LineSymbols::kTextMark, at);
      after_space = false;
      at += kSpaceMark.size();
      mark = line.find(kSpaceMark, at);
      continue;
    }
    Replaced front = ReplaceFront(line.substr(at, mark - at));
    while (after_space && front.by.starts_with(' ')) front.by.remove_prefix(1);
    if (!front.by.empty()) {
      reserve(front.by.size() + line.size() - at + kAround);
      for (std::size_t inside = 0; inside < front.by.size();) {
        const Utf8Character made = CharacterAt(front.by.data() + inside);
        add(made.code == U' ' ? space : SymbolOf(made.code), at);
        inside += made.bytes;
      }
      after_space = spacing_.removes_extra && front.by.ends_with(' ');
    }
    if (!spacing_.removes_extra) after_space = false;
    at += front.bytes;
  }
  if (spacing_.removes_extra)
    while (out.count > 0 && out.symbols[out.count - 1] == space) at = out.begins[--out.count];
  if (spacing_.adds_prefix && spacing_.is_suffix) add(space, at);
  out.begins[out.count] = static_cast<std::uint32_t>(at);
}

std::uint64_t LineNormalizer::memory() const {
  return charsmap_.memory() + table_.memory() + characters_.capacity() * sizeof(char32_t) +
         own_symbols_.memory();
}

}  // namespace pipeline
